package headgate.metastore

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Method, Proxy}
import java.util.concurrent.TimeUnit
import javax.jdo.JDOException

import scala.annotation.tailrec
import scala.util.{Failure, Try}
import scala.util.control.NonFatal

import org.apache.hadoop.hive.conf.HiveConf
import org.apache.hadoop.hive.conf.HiveConf.ConfVars
import org.apache.hadoop.hive.metastore.Deadline
import org.apache.hadoop.hive.metastore.HiveMetaStore.HMSHandler
import org.apache.hadoop.hive.metastore.api.{MetaException, NoSuchObjectException, ThriftHiveMetastore, UnknownDBException, UnknownTableException}
import org.datanucleus.exceptions.NucleusException

/**
 * Calls Hive's handler. Replaces Hive's `RetryingHMSHandler`, which reports an outage of the database as "not found" in
 * some calls and repeats calls that may have taken effect.
 *
 * | During the call | it changed nothing | it may have changed something |
 * |---|---|---|
 * | the database was down | retried for `waitSeconds`, then an error | success is returned, otherwise "unknown" |
 * | the store failed, for example by a conflict | retried as often as in Hive, then an error | an error |
 * | another statement failed | "not found" is an error, any other answer is returned | the answer is returned |
 */
final class TruthfulHandler private (handler: HMSHandler, waitSeconds: Int, callLimitMs: Long) extends InvocationHandler {
  import TruthfulHandler._

  override def invoke(proxy: AnyRef, method: Method, arguments: Array[AnyRef]): AnyRef = {
    val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(waitSeconds)

    @tailrec
    def attempt(outages: Int, conflicts: Int): AnyRef =
      DatabaseCall.watched(called(method, arguments, _)) match {
        case Answer(given) => given.get
        case Outage(_) if System.nanoTime() < deadline =>
          // The first outage may be only a connection that died while it was idle.
          if (outages > 0) Thread.sleep(outagePauseMs)
          attempt(outages + 1, conflicts)
        case Conflict(_) if conflicts < maxConflicts =>
          Thread.sleep(conflictPauseMs)
          attempt(outages, conflicts + 1)
        case Outage(reason) => throw new MetaException(s"the catalog's database does not answer: $reason")
        case Conflict(failure) => throw new MetaException(failure.toString)
      }

    attempt(0, 0)
  }

  private def called(method: Method, arguments: Array[AnyRef], seen: DatabaseCall): Outcome = {
    val answer = Try(within(method.getName) {
      try method.invoke(handler, arguments: _*)
      catch { case failure: InvocationTargetException => throw failure.getCause }
    })
    // A message about an outage must not contain "JDOException": Spark's client would repeat the call.
    seen.outage.fold(outcomeOf(answer, seen)) { cause =>
      // A store that lost its connection may be in the middle of a transaction.
      try ThreadStore.release()
      catch { case NonFatal(_) => () }
      if (!seen.mayHaveChanged) Outage(cause.getMessage)
      else
        Answer(answer.recoverWith(_ =>
          failed(s"the catalog's database was lost during ${method.getName}: it is unknown whether that took effect")))
    }
  }

  /** The outcome if there was no outage. */
  private def outcomeOf(answer: Try[AnyRef], seen: DatabaseCall): Outcome = (answer, seen.failure) match {
    case (Failure(StoreFailure(failure)), _) =>
      if (seen.mayHaveChanged) Answer(failed(failure.toString)) else Conflict(failure)
    case (Failure(failure), Some(cause)) if isAbsence(failure) && !seen.mayHaveChanged =>
      Answer(failed(s"the catalog's database cannot be read: ${cause.getMessage}"))
    case _ => Answer(answer)
  }

  /** Hive requires a deadline when it reads partitions. */
  private def within(name: String)(work: => AnyRef): AnyRef = {
    Deadline.registerIfNot(callLimitMs)
    val isStarted = Deadline.startTimer(name)
    try work
    finally if (isStarted) Deadline.stopTimer()
  }
}

object TruthfulHandler {
  private val outagePauseMs = 250L
  /** The same values as in Hive. */
  private val maxConflicts = 10
  private val conflictPauseMs = 2000L

  def over(handler: HMSHandler, conf: HiveConf, waitSeconds: Int): ThriftHiveMetastore.Iface = {
    val callLimitMs = conf.getTimeVar(ConfVars.METASTORE_CLIENT_SOCKET_TIMEOUT, TimeUnit.MILLISECONDS)
    val calls = new TruthfulHandler(handler, waitSeconds, callLimitMs)
    val kind = classOf[ThriftHiveMetastore.Iface]
    kind.cast(Proxy.newProxyInstance(kind.getClassLoader, Array[Class[_]](kind), calls))
  }

  private sealed trait Outcome
  private final case class Answer(given: Try[AnyRef]) extends Outcome
  private final case class Outage(reason: String) extends Outcome
  private final case class Conflict(failure: Throwable) extends Outcome

  /** A failure of Hive's store, by itself or as the cause of a `MetaException`. */
  private object StoreFailure {
    def unapply(failure: Throwable): Option[Throwable] = failure match {
      case _: JDOException | _: NucleusException => Some(failure)
      case _: MetaException => Option(failure.getCause).flatMap(unapply)
      case _ => None
    }
  }

  private def isAbsence(failure: Throwable): Boolean = failure match {
    case _: NoSuchObjectException | _: UnknownDBException | _: UnknownTableException => true
    case _ => false
  }

  private def failed(text: String): Try[AnyRef] = Failure(new MetaException(text))
}
