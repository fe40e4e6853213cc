package headgate.metastore

import java.util.{Collection => JavaCollection, List => JavaList, Map => JavaMap}

import org.apache.hadoop.hive.metastore.api.{FieldSchema, Partition, StorageDescriptor, Table}
import org.apache.hadoop.hive.metastore.model.MTable

/**
 * Partitions of one table, each with the table's columns and without sorting, buckets, skew or privileges of its own.
 */
final case class OrdinaryPartitions(table: MTable, keys: JavaList[FieldSchema], partitions: Seq[Partition])

object OrdinaryPartitions {
  private val ownRights = "PARTITION_LEVEL_PRIVILEGE"

  /** `model` and `table` are the same table, as stored and as in the API. None if any partition is not ordinary. */
  def of(model: MTable, table: Table, partitions: Seq[Partition]): Option[OrdinaryPartitions] =
    if (partitions.forall(isOrdinary(_, table))) Some(OrdinaryPartitions(model, table.getPartitionKeys, partitions))
    else None

  private def isOrdinary(partition: Partition, table: Table): Boolean =
    partition.getDbName == table.getDbName && partition.getTableName == table.getTableName &&
      partition.getValuesSize == table.getPartitionKeysSize &&
      !"TRUE".equalsIgnoreCase(table.getParameters.get(ownRights)) &&
      isWhole(partition.getParameters) && Option(partition.getSd).exists(isOrdinaryStorage(_, table))

  private def isOrdinaryStorage(storage: StorageDescriptor, table: Table): Boolean =
    storage.getCols != null && Option(table.getSd).exists(_.getCols == storage.getCols) &&
      isEmpty(storage.getBucketCols) && isEmpty(storage.getSortCols) && isWhole(storage.getParameters) &&
      Option(storage.getSerdeInfo).exists(serde => isWhole(serde.getParameters)) &&
      Option(storage.getSkewedInfo).forall { skewed =>
        isEmpty(skewed.getSkewedColNames) && isEmpty(skewed.getSkewedColValues) &&
          Option(skewed.getSkewedColValueLocationMaps).forall(_.isEmpty)
      }

  private def isEmpty(given: JavaCollection[_]): Boolean = given == null || given.isEmpty

  private def isWhole(parameters: JavaMap[String, String]): Boolean =
    parameters == null || !parameters.containsValue(null)
}
