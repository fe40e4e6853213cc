package org.apache.spark.sql.connect.headgate

import java.nio.ByteBuffer

import scala.collection.mutable.ArrayBuffer
import scala.util.{Failure, Success}

import org.apache.spark.{SparkEnv, SparkException, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.storage.{RDDBlockId, StorageLevel}
import org.apache.spark.util.ThreadUtils
import org.apache.spark.util.io.ChunkedByteBuffer

/** What a task answers: its first batches, and in how many blocks the others are. */
final case class StoredPartition(first: Array[Batch], firstBlock: Int, rowsOfBlocks: Array[Long])

/**
 * The job of one result. Blocks are named as those of an RDD of which there is none, one for each partition: so they are
 * taken away together, wherever they are.
 */
final class StoredJob(rows: RDD[InternalRow], format: BatchFormat, sender: BatchSender) {
  private val context = rows.sparkContext
  private val count = rows.getNumPartitions
  private val names = Array.fill(count)(context.newRddId())
  private val done = new Array[StoredPartition](count)
  private var failure: Option[Throwable] = None

  def run(): Unit = if (count > 0) {
    val (format, names) = (this.format, this.names) // what tasks need of us
    val job = context.submitJob[InternalRow, StoredPartition, Unit](
      rows,
      (part: Iterator[InternalRow]) => {
        val task = TaskContext.get()
        StoredJob.store(format.batches(part), names(task.partitionId()), task.attemptNumber())
      },
      0 until count,
      (index: Int, part: StoredPartition) => synchronized {
        done(index) = part
        notifyAll()
      },
      ())
    job.onComplete {
      case Success(_) =>
      case Failure(error) =>
        synchronized {
          failure = Some(error)
          notifyAll()
        }
    }(ThreadUtils.sameThread)
    try for (index <- 0 until count) sendPartition(index)
    catch {
      case error: Throwable =>
        job.cancel()
        names.foreach(remove)
        throw error
    }
  }

  private def sendPartition(index: Int): Unit = {
    val StoredPartition(first, firstBlock, rowsOfBlocks) = take(index)
    first.foreach(sender.send)
    for ((rows, number) <- rowsOfBlocks.zipWithIndex) {
      sender.send(Batch(StoredJob.read(RDDBlockId(names(index), firstBlock + number)), rows))
    }
    if (rowsOfBlocks.nonEmpty) remove(names(index))
  }

  /** Of each once: what it holds is free then. */
  private def take(index: Int): StoredPartition = synchronized {
    while (done(index) == null && failure.isEmpty) wait()
    failure.foreach(throw _)
    val part = done(index)
    done(index) = null
    part
  }

  private def remove(name: Int): Unit = SparkEnv.get.blockManager.master.removeRdd(name, blocking = false)
}

object StoredJob {
  /** So much of a partition comes with the task's answer: small results never touch the disk. */
  private val FirstBytes = 256 * 1024
  /** Blocks of one attempt. */
  private val BlocksOfAttempt = 1 << 24

  def store(batches: Iterator[Batch], name: Int, attempt: Int): StoredPartition = {
    val first = ArrayBuffer.empty[Batch]
    val rows = ArrayBuffer.empty[Long]
    val firstBlock = attempt * BlocksOfAttempt
    var held = 0L
    for (batch <- batches) {
      held += batch.bytes.length
      if (rows.isEmpty && held <= FirstBytes) first += batch
      else {
        val id = RDDBlockId(name, firstBlock + rows.length)
        val bytes = new ChunkedByteBuffer(ByteBuffer.wrap(batch.bytes))
        if (!SparkEnv.get.blockManager.putBytes[Array[Byte]](id, bytes, StorageLevel.DISK_ONLY)) {
          throw new SparkException(s"a part of the result could not be stored: $id")
        }
        rows += batch.rows
      }
    }
    StoredPartition(first.toArray, firstBlock, rows.toArray)
  }

  private def read(id: RDDBlockId): Array[Byte] = {
    val manager = SparkEnv.get.blockManager
    val local = manager.getLocalBytes(id).map { data =>
      try bytesOf(data.toByteBuffer())
      finally manager.releaseLockAndDispose(id, data)
    }
    local
      .orElse(manager.getRemoteBytes(id).map(_.toArray))
      .getOrElse(throw new SparkException(s"a part of the result was lost: $id"))
  }

  private def bytesOf(buffer: ByteBuffer): Array[Byte] = {
    val bytes = new Array[Byte](buffer.remaining())
    buffer.get(bytes)
    bytes
  }
}
