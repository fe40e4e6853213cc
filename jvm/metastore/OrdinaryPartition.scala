package headgate.metastore

import java.util.{Collection => JavaCollection, Map => JavaMap}

import org.apache.hadoop.hive.metastore.api.{Partition, StorageDescriptor, Table}

/** One with the table's columns, neither sorted nor in buckets nor skewed, and without rights of its own. */
object OrdinaryPartition {
  private val ownRights = "PARTITION_LEVEL_PRIVILEGE"

  def is(partition: Partition, table: Table): Boolean =
    partition.getDbName == table.getDbName && partition.getTableName == table.getTableName &&
      partition.getValuesSize == table.getPartitionKeysSize &&
      !"TRUE".equalsIgnoreCase(table.getParameters.get(ownRights)) &&
      isWhole(partition.getParameters) && Option(partition.getSd).exists(isOrdinary(_, table))

  private def isOrdinary(storage: StorageDescriptor, table: Table): Boolean =
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
