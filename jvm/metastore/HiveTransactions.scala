package headgate.metastore

import org.apache.hadoop.hive.conf.HiveConf
import org.apache.hadoop.hive.conf.HiveConf.ConfVars
import org.apache.hadoop.hive.metastore.txn.TxnUtils

/**
 * With each database that is dropped Hive looks for what its own kind of transactions have left behind, by a pool beside
 * that of everything else, which notices no dead connection and never ends an idle one.
 */
object HiveTransactions {
  /** The first use in a process decides for all later ones: here, that each look has a connection to itself. */
  def leaveUnpooled(conf: HiveConf): Unit = {
    val own = new HiveConf(conf)
    own.setVar(ConfVars.METASTORE_CONNECTION_POOLING_TYPE, "none")
    TxnUtils.getTxnStore(own)
  }
}
