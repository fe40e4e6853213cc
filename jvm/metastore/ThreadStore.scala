package headgate.metastore

import org.apache.hadoop.hive.metastore.HiveMetaStore.HMSHandler

/** Hive's store of the current thread, with its database connection. The next call that needs one creates a new one. */
object ThreadStore {
  def release(): Unit =
    try Option(HMSHandler.getRawStore).foreach(_.shutdown())
    finally HMSHandler.removeRawStore()
}
