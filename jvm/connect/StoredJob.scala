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

/** The result of a task: its first batches, and the row counts of the blocks with the others. */
final case class StoredPartition(first: Array[Batch], firstBlock: Int, rowsOfBlocks: Array[Long])

/**
 * The job that computes one result. The blocks of each partition are named like those of an otherwise unused RDD, so that
 * they can be removed together on all executors.
 */
final class StoredJob(rows: RDD[InternalRow], format: BatchFormat, sender: BatchSender) {
  private val context = rows.sparkContext
  private val count = rows.getNumPartitions
  private val names = Array.fill(count)(context.newRddId())
  private val done = new Array[StoredPartition](count)
  private var failure: Option[Throwable] = None

  def run(): Unit = if (count > 0) {
    val (format, names, firstBytes) = (this.format, this.names, StoredJob.firstBytes(count)) // captured by tasks instead of `this`
    val job = context.submitJob[InternalRow, StoredPartition, Unit](
      rows,
      (part: Iterator[InternalRow]) => {
        val task = TaskContext.get()
        val firstBlock = StoredJob.firstBlock(task.stageAttemptNumber(), task.attemptNumber())
        StoredJob.store(format.batches(part), firstBytes, names(task.partitionId()), firstBlock)
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

  /** Must be called once per partition, because it releases the partition. */
  private def take(index: Int): StoredPartition = synchronized {
    while (done(index) == null && failure.isEmpty) wait()
    failure.foreach(throw _)
    val part = done(index)
    done(index) = null
    part
  }

  /** Also informs the scheduler, which does not release executors that still have blocks. */
  private def remove(name: Int): Unit = context.unpersistRDD(name, blocking = false)
}

object StoredJob {
  /** Bytes of a partition that are returned with the task's result, so that small results are not written to disk. */
  private val FirstBytes = 256 * 1024
  /** The same limit for all partitions together: they wait in the heap, and Spark aborts jobs with too large results. */
  private val FirstBytesOfAll = 64 * 1024 * 1024
  /** Largest number of blocks of one attempt of a task. */
  private val BlocksOfAttempt = 1 << 20
  /** Largest number of attempts of a task in one attempt of its stage. */
  private val AttemptsOfStage = 1 << 7

  def firstBytes(partitions: Int): Int = FirstBytes.min(FirstBytesOfAll / partitions)

  /**
   * Both attempt numbers are needed for unique blocks: tasks of an earlier attempt of the stage may still run, and the
   * attempts of tasks count from 0 in each attempt of the stage.
   */
  def firstBlock(stageAttempt: Int, attempt: Int): Int = {
    val isNumbered = attempt < AttemptsOfStage && stageAttempt < Int.MaxValue / BlocksOfAttempt / AttemptsOfStage
    if (!isNumbered) throw new SparkException(s"too many attempts: $attempt of the task, $stageAttempt of its stage")
    (stageAttempt * AttemptsOfStage + attempt) * BlocksOfAttempt
  }

  def store(batches: Iterator[Batch], firstBytes: Int, name: Int, firstBlock: Int): StoredPartition = {
    val first = ArrayBuffer.empty[Batch]
    val rows = ArrayBuffer.empty[Long]
    var held = 0L
    for (batch <- batches) {
      held += batch.bytes.length
      if (rows.isEmpty && held <= firstBytes) first += batch
      else {
        if (rows.length == BlocksOfAttempt) throw new SparkException(s"a partition of the result has more than $BlocksOfAttempt batches")
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
      .getOrElse(throw new SparkException(s"a part of the result was lost with the executor that held it ($id)"))
  }

  private def bytesOf(buffer: ByteBuffer): Array[Byte] = {
    val bytes = new Array[Byte](buffer.remaining())
    buffer.get(bytes)
    bytes
  }
}
