package headgate.metastore

import org.apache.hadoop.hive.metastore.HiveMetaStore.HMSHandler

/** Hive's store of the current thread, with its connection to the database. The next call that needs one makes it anew. */
object ThreadStore {
  def release(): Unit =
    try Option(HMSHandler.getRawStore).foreach(_.shutdown())
    finally HMSHandler.removeRawStore()
}
