package headgate.metastore

import java.sql.{Connection, DriverManager, SQLException}

/** Prepares the database before Hive uses it, because Hive floods its log and gives up instead of waiting. */
object MetastoreDatabase {
  private val pauseMs = 500L
  /** An arbitrary key that nothing else locks in this database. */
  private val schemaLock = 4_823_117L
  private val valuesIndex = "headgate_partition_values"
  /** Errors that waiting does not solve: wrong password, insufficient privilege, no such database. */
  private val finalStates = Set("28000", "28P01", "42501", "3D000")

  /** Serialises the creation of the schema, because metastores of one catalog may start on two machines at the same time. */
  def whileLocked(settings: MetastoreSettings)(work: Connection => Unit): Unit = {
    val connection = connect(settings)
    try {
      connection.createStatement().execute(s"select pg_advisory_lock($schemaLock)")
      work(connection)
    } finally connection.close()
  }

  /**
   * Hive's indexes cover only whole names of partitions; our sensors search by some of the values. Checks for the index
   * first, because creating it would wait for all writing transactions even if it exists.
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
