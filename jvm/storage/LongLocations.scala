package headgate.storage

import java.net.URI

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions, SparkSessionExtensionsProvider}
import org.apache.spark.sql.catalyst.analysis.UnresolvedPartitionSpec
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.CreateTableLikeCommand
import org.apache.spark.sql.execution.datasources.{CreateTable => CreateSessionTable}

/**
 * Catalogs store the locations of schemas, tables and partitions with their long addresses, because other programs and
 * a later location of the account would not find `storage:/`. Spark does not qualify a location that has a scheme. A
 * service file names this class, so it applies to every session, whatever `spark.sql.extensions` is.
 */
final class LongLocations extends SparkSessionExtensionsProvider {
  /** Rules for hints are the first ones after the parser, when all commands still have the form that was written. */
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectHintResolutionRule(session => LongLocationsRule(session))
}

final case class LongLocationsRule(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case command: CreateNamespace => command.copy(properties = longLocation(command.properties))
    case command: SetNamespaceProperties => command.copy(properties = longLocation(command.properties))
    case command: SetNamespaceLocation => command.copy(location = long(command.location))
    case command: SetTableLocation => command.copy(location = long(command.location))
    case command: AddPartitions => command.copy(parts = command.parts.map {
        case part: UnresolvedPartitionSpec => part.copy(location = part.location.map(long))
        case part => part
      })
    case command: CreateTableLikeCommand => command.copy(fileFormat = longFormat(command.fileFormat))
    case command: CreateSessionTable =>
      command.copy(tableDesc = command.tableDesc.copy(storage = longFormat(command.tableDesc.storage)))
    case command: V2CreateTablePlan => command.transformExpressions { case table: UnresolvedTableSpec => longTable(table) }
  }

  private def longTable(table: UnresolvedTableSpec): UnresolvedTableSpec = {
    val options = table.optionExpression.options.map {
      case (name, Literal(text, kind)) if isPath(name) && text != null =>
        name -> (Literal.create(long(text.toString), kind): Expression)
      case option => option
    }
    table.copy(location = table.location.map(long), optionExpression = OptionList(options))
  }

  private def longFormat(format: CatalogStorageFormat): CatalogStorageFormat = format.copy(
    locationUri = format.locationUri.map(uri => if (isStorage(uri.toString)) longPath(new Path(uri)).toUri else uri),
    properties = format.properties.map { case (name, value) => name -> (if (isPath(name)) long(value) else value) })

  private def longLocation(properties: Map[String, String]): Map[String, String] =
    properties.map { case (name, value) => name -> (if (name == "location") long(value) else value) }

  private def long(location: String): String =
    if (isStorage(location)) longPath(new Path(location)).toString else location

  private def longPath(path: Path): Path = path.getFileSystem(session.sessionState.newHadoopConf()).makeQualified(path)

  private def isStorage(location: String): Boolean = location.startsWith("storage:")
  private def isPath(option: String): Boolean = option.equalsIgnoreCase("path")
}
