package headgate.metastore

import java.sql.{Connection, DriverManager, SQLException}

/** What has to hold of the database before Hive meets it: Hive fills its log and gives up where it could wait. */
object MetastoreDatabase {
  private val pauseMs = 500L
  /** Any number that nobody else locks in a database of ours. */
  private val schemaLock = 4_823_117L
  /** Waiting does not help: wrong password, no right, no such database. */
  private val finalStates = Set("28000", "28P01", "42501", "3D000")

  /** Two metastores of one catalog may start at once, on two machines: one after the other makes the schema. */
  def whileLocked(settings: MetastoreSettings)(work: => Unit): Unit = {
    val connection = connect(settings)
    try {
      connection.createStatement().execute(s"select pg_advisory_lock($schemaLock)")
      work
    } finally connection.close()
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
