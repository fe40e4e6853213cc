package headgate.metastore

import org.apache.hadoop.hive.conf.HiveConf
import org.apache.hadoop.hive.conf.HiveConf.ConfVars
import org.apache.hadoop.hive.metastore.txn.TxnUtils

/**
 * When a database is dropped, Hive cleans up its own kind of transactions. It uses a separate connection pool for that,
 * which does not notice dead connections and never closes idle ones.
 */
object HiveTransactions {
  /** Makes Hive open a new connection for each clean-up. The first use in a process decides for all later ones. */
  def leaveUnpooled(conf: HiveConf): Unit = {
    val own = new HiveConf(conf)
    own.setVar(ConfVars.METASTORE_CONNECTION_POOLING_TYPE, "none")
    TxnUtils.getTxnStore(own)
  }
}
