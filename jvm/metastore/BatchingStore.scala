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
 * Hive's own store but for the way to add partitions. Hive sends some twenty statements for each of them, one after the
 * other; here all those of a call take one for each table that they have rows in, as in newer metastores. Partitions that
 * have more than the ordinary are left to Hive.
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
   * Asked of each partition before it is added. Hive reads the table and the partition, with all that belongs to them; to
   * find that there is none takes less. Where there is one Hive still has the last word: a wrong yes would leave out a
   * partition, and nobody would be told.
   */
  override def doesPartitionExist(database: String, table: String, values: JavaList[String]): Boolean =
    inTransaction((_, connection) => new PartitionNames(connection).mayExist(database, table, values)) &&
      super.doesPartitionExist(database, table, values)

  /**
   * By the objects that Hive has read for this call: who changes or drops the table meanwhile breaks a foreign key, and
   * the call is tried again.
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
      // `getPersistenceManager` makes another one, outside of the transaction.
      val manager = ownManager.get(this).asInstanceOf[JDOPersistenceManager]
      manager.flush() // what Hive has not sent yet
      val opened = manager.getDataStoreConnection
      val result =
        try work(manager, opened.getNativeConnection.asInstanceOf[Connection])
        finally opened.close()
      isCommitted = commitTransaction()
      if (!isCommitted) throw new JDODataStoreException("the transaction was rolled back")
      result
    } catch {
      case failure: SQLException if isOfValues(failure) => throw new MetaException(failure.getMessage)
      // What Hive's own way would throw, so that it is tried again: somebody else may have added one of them.
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

  /** Too long, or not of the type: it would fail again. */
  private def isOfValues(failure: SQLException): Boolean = Option(failure.getSQLState).exists(_.startsWith("22"))
}
