package headgate.metastore

import java.lang.reflect.AccessibleObject
import java.sql.{Connection, SQLException}
import java.util.{List => JavaList}
import javax.jdo.JDODataStoreException

import scala.jdk.CollectionConverters._

import org.apache.hadoop.hive.metastore.ObjectStore
import org.apache.hadoop.hive.metastore.api.{MetaException, Partition}
import org.apache.hadoop.hive.metastore.model.MTable
import org.datanucleus.api.jdo.JDOPersistenceManager

/**
 * Hive's store, except that it adds partitions in batches. Hive sends about twenty statements for each partition. Here all
 * partitions of a call take one statement for each affected table, as in newer metastores. Partitions with unusual
 * features are left to Hive.
 */
class BatchingStore extends ObjectStore {
  import BatchingStore._

  override def addPartitions(database: String, table: String, partitions: JavaList[Partition]): Boolean =
    ordinary(database, table, partitions.asScala.toSeq) match {
      case None => super.addPartitions(database, table, partitions)
      case Some(all) =>
        inTransaction((manager, connection) => new PartitionRows(manager, connection).insert(all))
        true
    }

  /**
   * Called for each partition before it is added. Hive would read the whole table and partition; to find that a partition
   * does not exist needs less. If it may exist, Hive decides, because a wrong yes would silently omit the partition.
   */
  override def doesPartitionExist(database: String, table: String, values: JavaList[String]): Boolean =
    inTransaction((_, connection) => new PartitionNames(connection).mayExist(database, table, values)) &&
      super.doesPartitionExist(database, table, values)

  /**
   * Uses the objects that Hive has read for this call. If the table is changed or dropped meanwhile, a foreign key is
   * violated and the call is retried.
   */
  private def ordinary(database: String, name: String, partitions: Seq[Partition]): Option[OrdinaryPartitions] =
    for {
      model <- Option(readTable.invoke(this, database, name).asInstanceOf[MTable])
      table <- Option(getTable(database, name))
      all <- OrdinaryPartitions.of(model, table, partitions)
    } yield all

  private def inTransaction[T](work: (JDOPersistenceManager, Connection) => T): T = {
    var isCommitted = false
    openTransaction()
    try {
      // `getPersistenceManager` would create another one, outside of the transaction.
      val manager = ownManager.get(this).asInstanceOf[JDOPersistenceManager]
      manager.flush() // sends Hive's pending changes
      val opened = manager.getDataStoreConnection
      val result =
        try work(manager, opened.getNativeConnection.asInstanceOf[Connection])
        finally opened.close()
      isCommitted = commitTransaction()
      if (!isCommitted) throw new JDODataStoreException("the transaction was rolled back")
      result
    } catch {
      case failure: SQLException if isOfValues(failure) => throw new MetaException(failure.getMessage)
      // The same exception as in Hive, so that the call is retried: another client may have added one of the partitions.
      case failure: SQLException => throw new JDODataStoreException(failure.getMessage, failure)
    } finally if (!isCommitted) rollbackTransaction()
  }
}

private object BatchingStore {
  private val ownManager = opened(classOf[ObjectStore].getDeclaredField("pm"))
  private val readTable = opened(classOf[ObjectStore].getDeclaredMethod("getMTable", classOf[String], classOf[String]))

  private def opened[T <: AccessibleObject](member: T): T = {
    member.setAccessible(true)
    member
  }

  /** A value is too long or has the wrong type: a retry would fail again. */
  private def isOfValues(failure: SQLException): Boolean = Option(failure.getSQLState).exists(_.startsWith("22"))
}
