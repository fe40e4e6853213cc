package headgate.metastore

import java.sql.{Connection, PreparedStatement, ResultSet}
import java.util.{List => JavaList}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.hive.metastore.Warehouse
import org.apache.hadoop.hive.metastore.api.FieldSchema
import org.apache.hive.common.util.HiveStringUtils.normalizeIdentifier
import org.postgresql.PGStatement

/** Searches partitions by their names, which are indexed. */
final class PartitionNames(connection: Connection) {
  def mayExist(database: String, table: String, values: JavaList[String]): Boolean = {
    val keys = keysOf(normalizeIdentifier(database), normalizeIdentifier(table))
    keys.headOption.exists { first =>
      val columns = keys.map(key => new FieldSchema(key.name, "string", null))
      isThere(first.tableId, Warehouse.makePartName(columns.asJava, values))
    }
  }

  private case class Key(tableId: Long, name: String)

  private def keysOf(database: String, table: String): Seq[Key] =
    prepared(
      """select t."TBL_ID", k."PKEY_NAME"
        |  from "DBS" d join "TBLS" t using ("DB_ID") join "PARTITION_KEYS" k using ("TBL_ID")
        | where d."NAME" = ? and t."TBL_NAME" = ? order by k."INTEGER_IDX"""".stripMargin) { statement =>
      statement.setString(1, database)
      statement.setString(2, table)
      rowsOf(statement)(row => Key(row.getLong(1), row.getString(2)))
    }

  private def isThere(tableId: Long, name: String): Boolean =
    // The sum prevents the use of the index on TBL_ID, which the planner prefers for a new table.
    prepared("""select from "PARTITIONS" where "PART_NAME" = ? and "TBL_ID" + 0 = ?""") { statement =>
      // Planned each time, because a plan from when the table was empty would read all its partitions.
      statement.unwrap(classOf[PGStatement]).setPrepareThreshold(0)
      statement.setString(1, name)
      statement.setLong(2, tableId)
      rowsOf(statement)(_ => ()).nonEmpty
    }

  private def prepared[T](text: String)(work: PreparedStatement => T): T = {
    val statement = connection.prepareStatement(text)
    try work(statement)
    finally statement.close()
  }

  private def rowsOf[T](statement: PreparedStatement)(read: ResultSet => T): Seq[T] = {
    val rows = statement.executeQuery()
    Iterator.continually(rows).takeWhile(_.next()).map(read).toList
  }
}
