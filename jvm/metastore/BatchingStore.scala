package headgate.metastore

import java.sql.{Connection, SQLException}
import java.util.{List => JavaList}
import javax.jdo.JDODataStoreException

import scala.jdk.CollectionConverters._

import org.apache.hadoop.hive.metastore.ObjectStore
import org.apache.hadoop.hive.metastore.api.Partition
import org.datanucleus.api.jdo.JDOPersistenceManager

/**
 * Hive's own store but for the way to add partitions. Hive sends some twenty statements for each of them, one after the
 * other; here all those of a call take one for each table that they have rows in, as in newer metastores. Partitions that
 * have more than the ordinary are left to Hive.
 */
class BatchingStore extends ObjectStore {
  override def addPartitions(database: String, table: String, partitions: JavaList[Partition]): Boolean = {
    val all = partitions.asScala.toSeq
    Option(getTable(database, table)).filter(found => all.forall(OrdinaryPartition.is(_, found))) match {
      case None => super.addPartitions(database, table, partitions)
      case Some(found) =>
        inTransaction((manager, connection) => new PartitionRows(manager, connection, found).insert(all))
        true
    }
  }

  /**
   * Asked of each partition before it is added. Hive reads the table and the partition, with all that belongs to them; to
   * find that there is none takes less. Where there is one Hive still has the last word: a wrong yes would leave out a
   * partition, and nobody would be told.
   */
  override def doesPartitionExist(database: String, table: String, values: JavaList[String]): Boolean =
    inTransaction((_, connection) => new PartitionNames(connection).mayExist(database, table, values)) &&
      super.doesPartitionExist(database, table, values)

  private def inTransaction[T](work: (JDOPersistenceManager, Connection) => T): T = {
    var isCommitted = false
    openTransaction()
    try {
      val manager = ownManager
      manager.flush() // what Hive has not sent yet
      val opened = manager.getDataStoreConnection
      val result =
        try work(manager, opened.getNativeConnection.asInstanceOf[Connection])
        finally opened.close()
      isCommitted = commitTransaction()
      if (!isCommitted) throw new JDODataStoreException("the transaction was rolled back")
      result
    } catch {
      // What Hive's own way would throw, so that it is tried again: somebody else may have added one of them.
      case failure: SQLException => throw new JDODataStoreException(failure.getMessage, failure)
    } finally if (!isCommitted) rollbackTransaction()
  }

  /** `getPersistenceManager` makes another one, outside of the transaction. */
  private def ownManager: JDOPersistenceManager = BatchingStore.managerField.get(this).asInstanceOf[JDOPersistenceManager]
}

private object BatchingStore {
  private val managerField = {
    val field = classOf[ObjectStore].getDeclaredField("pm")
    field.setAccessible(true)
    field
  }
}
