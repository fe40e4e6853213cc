package headgate.metastore

import java.sql.{Connection, DriverManager, SQLException}

/** What has to hold of the database before Hive meets it: Hive fills its log and gives up where it could wait. */
object MetastoreDatabase {
  private val pauseMs = 500L
  /** Any number that nobody else locks in a database of ours. */
  private val schemaLock = 4_823_117L
  private val valuesIndex = "headgate_partition_values"
  /** Waiting does not help: wrong password, no right, no such database. */
  private val finalStates = Set("28000", "28P01", "42501", "3D000")

  /** Two metastores of one catalog may start at once, on two machines: one after the other makes the schema. */
  def whileLocked(settings: MetastoreSettings)(work: Connection => Unit): Unit = {
    val connection = connect(settings)
    try {
      connection.createStatement().execute(s"select pg_advisory_lock($schemaLock)")
      work(connection)
    } finally connection.close()
  }

  /**
   * Hive finds partitions by their whole names alone; this is for who asks for some of their values, the server's sensors.
   * Looked for first: to make it would wait for every transaction that writes, even if it is there.
   */
  def addIndex(connection: Connection): Unit = {
    val statement = connection.createStatement()
    val found = statement.executeQuery(s"select from pg_indexes where schemaname = 'public' and indexname = '$valuesIndex'")
    if (!found.next())
      statement.execute(
        s"""create index $valuesIndex on "PARTITION_KEY_VALS" ("PART_KEY_VAL", "INTEGER_IDX", "PART_ID")"""
      )
  }

  private def connect(settings: MetastoreSettings): Connection = {
    val deadline = System.nanoTime() + settings.databaseWaitSeconds * 1_000_000_000L
    def attempt(): Connection =
      try DriverManager.getConnection(settings.jdbcUrl, settings.jdbcUser, settings.jdbcPassword)
      catch {
        case failure: SQLException if !finalStates(failure.getSQLState) && System.nanoTime() < deadline =>
          Thread.sleep(pauseMs)
          attempt()
      }
    attempt()
  }
}
