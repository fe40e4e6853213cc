package org.apache.spark.sql.connect.headgate

import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.sql.connect.service.{ExecuteStatus, SparkConnectService}

/**
 * Reports whether the server is busy: a file exists while a statement runs. The runner checks that file before it ends an
 * idle server (`processes/runner/orphan.ts`), because only this JVM knows what runs in it. A statement whose rows wait to be
 * read does not count as running, because its reader may never return.
 */
object Activity {
  private val LookEveryMs = 500L
  private val Over = Set[ExecuteStatus](ExecuteStatus.Finished, ExecuteStatus.Failed, ExecuteStatus.Canceled, ExecuteStatus.Closed)

  /** Statements that hold rows and wait for their reader. */
  private val waiting = new AtomicInteger

  def whileWaiting[A](work: => A): A = {
    waiting.incrementAndGet()
    try work
    finally waiting.decrementAndGet()
  }

  def report(file: Path): Unit = {
    val thread = new Thread(() => watch(file), "headgate-activity")
    thread.setDaemon(true)
    thread.start()
  }

  private def watch(file: Path): Unit =
    while (true) {
      // If unknown, the server counts as busy: ending too late costs memory, ending too early costs a query.
      val isBusy =
        try SparkContext.getActive.exists(isAtWork)
        catch { case NonFatal(_) => true }
      try if (isBusy) keep(file) else Files.deleteIfExists(file)
      catch { case NonFatal(_) => () }
      Thread.sleep(LookEveryMs)
    }

  private def keep(file: Path): Unit = if (!Files.exists(file)) Files.createFile(file)

  private def isAtWork(context: SparkContext): Boolean = {
    val begun = SparkConnectService.executionManager.listActiveExecutions match {
      case Right(statements) => statements.count(each => !Over.contains(each.status))
      case Left(_) => 0
    }
    begun > waiting.get || context.statusTracker.getActiveJobIds().nonEmpty
  }
}
