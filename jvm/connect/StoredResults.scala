package org.apache.spark.sql.connect.headgate

import org.apache.spark.SparkEnv
import org.apache.spark.connect.proto
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, OneRowRelation, Project}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.connect.config.Connect
import org.apache.spark.sql.connect.planner.SparkConnectPlanner
import org.apache.spark.sql.connect.plugin.CommandPlugin
import org.apache.spark.sql.connect.service.ExecuteHolder
import org.apache.spark.sql.execution.{CommandResultExec, LocalTableScanExec, SQLExecution}
import org.apache.spark.sql.execution.arrow.ArrowConverters
import org.apache.spark.sql.types.StructType
import org.sparkproject.connect.protobuf

/**
 * Runs a relation whose result may be larger than the server's heap. Connect itself holds whole partitions until they are
 * sent, and everything that is not read yet. Here tasks write large results to disk in batches, which are loaded only when
 * the reader needs them. The package name gives access to package-private members of Connect.
 */
final class StoredResults extends CommandPlugin {
  override def process(command: Array[Byte], planner: SparkConnectPlanner): Boolean = {
    val any = protobuf.Any.parseFrom(command)
    val isOurs = any.getTypeUrl == StoredResults.TypeUrl
    if (isOurs) StoredResults.run(proto.Relation.parseFrom(any.getValue), planner)
    isOurs
  }
}

object StoredResults {
  /** The same as in `statement-plan.ts`. */
  val TypeUrl = "headgate/spark.connect.Relation"
  /** The same as in Connect, because sizes are estimates. */
  private val SizeShare = 0.7

  private def run(relation: proto.Relation, planner: SparkConnectPlanner): Unit = {
    val holder = planner.executeHolderOpt.getOrElse(throw new IllegalStateException("the command has no execution"))
    val tracker = holder.eventsManager.createQueryPlanningTracker()
    val data = Dataset.ofRows(holder.session, planner.transformRelation(relation), tracker)
    val sender = new BatchSender(holder)
    sender.sendSchema(data.schema)
    val format = batchFormat(holder, data.schema)
    val constant = constantRow(data.queryExecution.optimizedPlan)
    data.queryExecution.executedPlan match {
      case local: LocalTableScanExec => format.batches(local.rows.iterator).foreach(sender.send)
      case command: CommandResultExec => format.batches(command.rows.iterator).foreach(sender.send)
      case _ if constant.isDefined => format.batches(constant.iterator).foreach(sender.send)
      case plan =>
        SQLExecution.withNewExecutionId(data.queryExecution, Some("collectArrow")) {
          new StoredJob(plan.execute(), format, sender).run()
        }
    }
    if (sender.isEmpty) sender.send(Batch(format.empty, 0))
  }

  /** The row of a query like `SELECT 1`, which needs no job because the planner has evaluated it. */
  private def constantRow(plan: LogicalPlan): Option[InternalRow] = plan match {
    case Project(columns, OneRowRelation()) =>
      val values = columns.collect { case Alias(literal: Literal, _) => literal.value }
      if (values.length == columns.length) Some(InternalRow.fromSeq(values)) else None
    case _ => None
  }

  private def batchFormat(holder: ExecuteHolder, schema: StructType): BatchFormat = {
    val conf = holder.session.sessionState.conf
    BatchFormat(
      schema,
      conf.arrowMaxRecordsPerBatch,
      (SparkEnv.get.conf.get(Connect.CONNECT_GRPC_ARROW_MAX_BATCH_SIZE) * SizeShare).toLong,
      conf.sessionLocalTimeZone,
      conf.arrowUseLargeVarTypes)
  }
}

/** A complete Arrow stream and its number of rows. */
final case class Batch(bytes: Array[Byte], rows: Long)

/** Converts rows to batches as Connect does. */
final case class BatchFormat(
    schema: StructType,
    maxRows: Long,
    maxBytes: Long,
    timeZone: String,
    largeVarTypes: Boolean) {
  def batches(rows: Iterator[InternalRow]): Iterator[Batch] = {
    val made = ArrowConverters.toBatchWithSchemaIterator(
      rows, schema, maxRows, maxBytes, timeZone, errorOnDuplicatedFieldNames = false, largeVarTypes)
    made.map(bytes => Batch(bytes, made.rowCountInLastBatch))
  }

  def empty: Array[Byte] =
    ArrowConverters.createEmptyArrowBatch(schema, timeZone, errorOnDuplicatedFieldNames = false, largeVarTypes)
}
