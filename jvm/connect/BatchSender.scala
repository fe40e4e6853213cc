package org.apache.spark.sql.connect.headgate

import org.apache.spark.connect.proto
import org.apache.spark.sql.connect.common.DataTypeProtoConverter
import org.apache.spark.sql.connect.service.ExecuteHolder
import org.apache.spark.sql.types.StructType
import org.sparkproject.connect.protobuf.ByteString

/** Sends batches to the statement's stream, in parts of the client's preferred size, no faster than they are read. */
final class BatchSender(holder: ExecuteHolder) {
  import BatchSender._

  private val stream = new ResponseStream(holder)
  private val session = holder.sessionHolder
  private val partSize =
    if (holder.resultChunkingEnabled) holder.preferredArrowChunkSize.map(_.toInt).getOrElse(DefaultPart) else Int.MaxValue
  private var rows = 0L
  private var batches = 0

  def isEmpty: Boolean = batches == 0

  def sendSchema(schema: StructType): Unit =
    stream.send(response.setSchema(DataTypeProtoConverter.toConnectProtoType(schema)).build())

  def send(batch: Batch): Unit = {
    val Batch(bytes, count) = batch
    val parts = 1.max(((bytes.length.toLong + partSize - 1) / partSize).toInt)
    for (part <- 0 until parts) {
      waitForReader()
      val from = part * partSize
      val message = proto.ExecutePlanResponse.ArrowBatch
        .newBuilder()
        .setRowCount(count)
        .setStartOffset(rows)
        .setData(ByteString.copyFrom(bytes, from, partSize.min(bytes.length - from)))
      if (holder.resultChunkingEnabled) message.setChunkIndex(part).setNumChunksInBatch(parts)
      stream.send(response.setArrowBatch(message).build())
    }
    rows += count
    batches += 1
  }

  /** Throws if the statement is interrupted. */
  private def waitForReader(): Unit =
    if (stream.unread > Ahead) Activity.whileWaiting { while (stream.unread > Ahead) Thread.sleep(1) }

  private def response: proto.ExecutePlanResponse.Builder =
    proto.ExecutePlanResponse
      .newBuilder()
      .setSessionId(session.sessionId)
      .setServerSideSessionId(session.serverSessionId)
}

object BatchSender {
  private val DefaultPart = 2 * 1024 * 1024
  /** Unread parts; enough that the reader never waits for us. */
  private val Ahead = 8
}

/**
 * The response stream of a statement. Uses reflection, because the package of the jar's gRPC classes differs between
 * compiler and JVM, and because one of the methods is private.
 */
final class ResponseStream(holder: ExecuteHolder) {
  private val observer: AnyRef = classOf[ExecuteHolder].getMethod("responseObserver").invoke(holder)
  private val onNext = observer.getClass.getMethod("onNext", classOf[Object])
  private val produced = observer.getClass.getDeclaredMethod("lastProducedIndex")
  private val consumed = observer.getClass.getMethod("highestConsumedIndex")
  produced.setAccessible(true)

  def send(answer: proto.ExecutePlanResponse): Unit = onNext.invoke(observer, answer)

  def unread: Long = number(produced) - number(consumed)

  private def number(method: java.lang.reflect.Method): Long = method.invoke(observer).asInstanceOf[java.lang.Long]
}
