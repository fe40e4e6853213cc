package headgate.metastore

import java.sql.SQLException

/**
 * What the database did during one call of a client, as JDBC saw it. Hive itself often forgets: a database that cannot be
 * read counts as one that does not exist (`ObjectStore.getDatabase`), and lists come back empty.
 */
final class DatabaseCall {
  import DatabaseCall._

  private var lost: Option[SQLException] = None
  private var failed: Option[SQLException] = None
  private var committed = false

  /** The database could not do what it was asked. */
  def outage: Option[SQLException] = lost

  /** The first statement that failed, for whatever reason. */
  def failure: Option[SQLException] = failed

  /** A transaction that writes was committed, or nobody knows whether it was. */
  def mayHaveChanged: Boolean = committed

  private[metastore] def noteFailure(failure: SQLException): Unit = {
    if (failed.isEmpty) failed = Some(failure)
    if (lost.isEmpty && isOutage(failure)) lost = Some(failure)
  }

  private[metastore] def noteCommit(): Unit = committed = true
}

object DatabaseCall {
  /**
   * Lost connections, refused logins, a server that ends, starts, has no room or cannot read its own files. Others are a
   * verdict on the statement, such as a value that has not the type which Hive expects: it asks in another way then.
   */
  private val outageStates = Set("08", "28", "3D", "53", "55", "57", "58", "XX")
  private val ofThread = new ThreadLocal[DatabaseCall]

  /** Notes what happens on this thread until `work` ends. */
  def watched[T](work: DatabaseCall => T): T = {
    val call = new DatabaseCall
    ofThread.set(call)
    try work(call)
    finally ofThread.remove()
  }

  /** None: nobody asked, as while the process starts. */
  private[metastore] def current: Option[DatabaseCall] = Option(ofThread.get)

  private[metastore] def isOutage(failure: SQLException): Boolean =
    Option(failure.getSQLState).forall(state => outageStates.exists(state.startsWith))
}
