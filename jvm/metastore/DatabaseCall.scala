package headgate.metastore

import java.sql.SQLException

/**
 * Records failures and commits of the database during one call of a client, as JDBC reports them. Hive often swallows
 * failures: it reports an unreadable database as missing (`ObjectStore.getDatabase`) or returns empty lists.
 */
final class DatabaseCall {
  import DatabaseCall._

  private var lost: Option[SQLException] = None
  private var failed: Option[SQLException] = None
  private var committed = false

  /** The first failure that is an outage of the database. */
  def outage: Option[SQLException] = lost

  /** The first failure for any reason. */
  def failure: Option[SQLException] = failed

  /** A writing transaction was committed, or it is unknown whether it was. */
  def mayHaveChanged: Boolean = committed

  private[metastore] def noteFailure(failure: SQLException): Unit = {
    if (failed.isEmpty) failed = Some(failure)
    if (lost.isEmpty && isOutage(failure)) lost = Some(failure)
  }

  private[metastore] def noteCommit(): Unit = committed = true
}

object DatabaseCall {
  /**
   * SQLSTATEs, or their first characters, of lost connections, refused logins, and a server that starts, stops, is full,
   * is read-only or cannot read its files. These are the states of `server/src/db/store-fault.ts`, and also all of class
   * 55 (not in the required state) and XX (internal errors), which Hive could report as missing objects. Other states
   * concern only the statement, for example a value of another type than Hive expects; Hive then tries another statement.
   */
  private val outageStates = Set("08", "25006", "25P03", "25P04", "28", "3D", "53", "55", "57", "58", "XX")
  private val ofThread = new ThreadLocal[DatabaseCall]

  /** Records what happens on this thread until `work` ends. */
  def watched[T](work: DatabaseCall => T): T = {
    val call = new DatabaseCall
    ofThread.set(call)
    try work(call)
    finally ofThread.remove()
  }

  /** None outside of calls, for example while the process starts. */
  private[metastore] def current: Option[DatabaseCall] = Option(ofThread.get)

  private[metastore] def isOutage(failure: SQLException): Boolean =
    Option(failure.getSQLState).forall(state => outageStates.exists(state.startsWith))
}
