package headgate.metastore

import java.sql.Connection
import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.hive.metastore.Warehouse
import org.apache.hadoop.hive.metastore.api.Partition
import org.apache.hadoop.hive.metastore.model.{MPartition, MSerDeInfo, MStorageDescriptor}
import org.datanucleus.api.jdo.JDOPersistenceManager
import org.datanucleus.identity.DatastoreId

/** Inserts ordinary partitions into the metastore's database, within the manager's transaction. */
final class PartitionRows(manager: JDOPersistenceManager, connection: Connection) {
  def insert(given: OrdinaryPartitions): Unit = {
    val (tableId, columnsId) = (idOf(given.table), idOf(given.table.getSd.getCD))
    // Sorted by name, so that two clients that add the same partitions cannot deadlock.
    val all = given.partitions.map(each => Warehouse.makePartName(given.keys, each.getValues) -> each).sortBy(_._1).map {
      case (name, each) =>
        Row(name, each, newId(classOf[MPartition]), newId(classOf[MStorageDescriptor]), newId(classOf[MSerDeInfo]))
    }
    val partitions = all.map(_.partition)
    val storages = partitions.map(_.getSd)
    val serdes = storages.map(_.getSerdeInfo)
    insertInto("SERDES")(
      Column("SERDE_ID", "int8", all.map(_.serdeId)),
      Column("NAME", "text", serdes.map(_.getName)),
      Column("SLIB", "text", serdes.map(_.getSerializationLib)))
    insertParameters("SERDE_PARAMS", "SERDE_ID", all.map(_.serdeId).zip(serdes.map(_.getParameters)))
    insertInto("SDS")(
      Column("SD_ID", "int8", all.map(_.storageId)),
      Column("CD_ID", "int8", all.map(_ => columnsId)),
      Column("SERDE_ID", "int8", all.map(_.serdeId)),
      Column("LOCATION", "text", storages.map(_.getLocation)),
      Column("INPUT_FORMAT", "text", storages.map(_.getInputFormat)),
      Column("OUTPUT_FORMAT", "text", storages.map(_.getOutputFormat)),
      Column("NUM_BUCKETS", "int4", storages.map(_.getNumBuckets)),
      Column("IS_COMPRESSED", "bool", storages.map(_.isCompressed)),
      Column("IS_STOREDASSUBDIRECTORIES", "bool", storages.map(_.isStoredAsSubDirectories)))
    insertParameters("SD_PARAMS", "SD_ID", all.map(_.storageId).zip(storages.map(_.getParameters)))
    insertInto("PARTITIONS")(
      Column("PART_ID", "int8", all.map(_.id)),
      Column("TBL_ID", "int8", all.map(_ => tableId)),
      Column("SD_ID", "int8", all.map(_.storageId)),
      Column("PART_NAME", "text", all.map(_.name)),
      Column("CREATE_TIME", "int4", partitions.map(_.getCreateTime)),
      Column("LAST_ACCESS_TIME", "int4", partitions.map(_.getLastAccessTime)))
    insertParameters("PARTITION_PARAMS", "PART_ID", all.map(_.id).zip(partitions.map(_.getParameters)))
    val values = for (row <- all; (value, at) <- row.partition.getValues.asScala.zipWithIndex) yield (row.id, value, at)
    insertInto("PARTITION_KEY_VALS")(
      Column("PART_ID", "int8", values.map(_._1)),
      Column("PART_KEY_VAL", "text", values.map(_._2)),
      Column("INTEGER_IDX", "int4", values.map(_._3)))
  }

  private case class Row(name: String, partition: Partition, id: Long, storageId: Long, serdeId: Long)

  private case class Column(name: String, kind: String, values: Seq[Any])

  private def insertParameters(into: String, owner: String, parameters: Seq[(Long, JavaMap[String, String])]): Unit = {
    val all = for ((id, given) <- parameters if given != null; (key, value) <- given.asScala) yield (id, key, value)
    insertInto(into)(
      Column(owner, "int8", all.map(_._1)),
      Column("PARAM_KEY", "text", all.map(_._2)),
      Column("PARAM_VALUE", "text", all.map(_._3)))
  }

  private def insertInto(into: String)(columns: Column*): Unit = if (columns.head.values.nonEmpty) {
    val names = columns.map(column => s""""${column.name}"""").mkString(", ")
    val arrays = columns.map(column => s"?::${column.kind}[]").mkString(", ")
    val statement = connection.prepareStatement(s"""insert into "$into" ($names) select * from unnest($arrays)""")
    try {
      for ((column, at) <- columns.zipWithIndex) {
        val values = column.values.map(_.asInstanceOf[AnyRef]).toArray
        statement.setArray(at + 1, connection.createArrayOf(column.kind, values))
      }
      statement.executeUpdate()
    } finally statement.close()
  }

  private def idOf(kept: AnyRef): Long =
    manager.getObjectId(kept).asInstanceOf[DatastoreId].getKeyAsObject.asInstanceOf[Long]

  /** Uses Hive's generator of ids. */
  private def newId(kind: Class[_]): Long = {
    val context = manager.getExecutionContext
    val described = context.getMetaDataManager.getMetaDataForClass(kind, context.getClassLoaderResolver)
    context.getStoreManager.getStrategyValue(context, described, -1).asInstanceOf[Long]
  }
}
