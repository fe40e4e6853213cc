package headgate.metastore

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Method, Proxy}
import java.sql.{CallableStatement, Connection, Driver, DriverManager, DriverPropertyInfo, PreparedStatement, SQLException, Statement}
import java.util.Properties
import java.util.logging.Logger

/**
 * PostgreSQL's driver under a URL prefix of ours. Each connection records in the `DatabaseCall` of its thread which
 * statements failed and whether something was committed. Result sets need no watching, because the driver has received all
 * rows when a statement returns.
 */
final class WatchedDriver extends Driver {
  private val own = new org.postgresql.Driver

  override def acceptsURL(url: String): Boolean = url.startsWith(WatchedDriver.prefix)

  override def connect(url: String, properties: Properties): Connection =
    if (!acceptsURL(url)) null
    else
      try WatchedConnection.of(own.connect(plain(url), properties))
      catch {
        case failure: SQLException =>
          DatabaseCall.current.foreach(_.noteFailure(failure))
          throw failure
      }

  override def getPropertyInfo(url: String, properties: Properties): Array[DriverPropertyInfo] =
    own.getPropertyInfo(plain(url), properties)
  override def getMajorVersion: Int = own.getMajorVersion
  override def getMinorVersion: Int = own.getMinorVersion
  override def jdbcCompliant(): Boolean = own.jdbcCompliant
  override def getParentLogger: Logger = own.getParentLogger

  private def plain(url: String): String = "jdbc:" + url.stripPrefix(WatchedDriver.prefix)
}

object WatchedDriver {
  private val prefix = "jdbc:headgate:"

  /** Registers this driver and returns its URL for a URL of PostgreSQL. */
  def addressOf(url: String): String = {
    DriverManager.registerDriver(registered)
    prefix + url.stripPrefix("jdbc:")
  }

  private lazy val registered = new WatchedDriver
}

private final class WatchedConnection(connection: Connection) extends WatchedObject(connection) {
  private var hasWritten = false

  override protected def call(method: Method, arguments: Array[AnyRef]): AnyRef = method.getName match {
    case "commit" => commit(super.call(method, arguments))
    case "rollback" =>
      hasWritten = false
      super.call(method, arguments)
    case _ =>
      super.call(method, arguments) match {
        case statement: CallableStatement => statementOf(classOf[CallableStatement], statement, arguments)
        case statement: PreparedStatement => statementOf(classOf[PreparedStatement], statement, arguments)
        case statement: Statement => statementOf(classOf[Statement], statement, arguments)
        case other => other
      }
  }

  private def statementOf[S <: Statement](kind: Class[S], statement: S, arguments: Array[AnyRef]): S =
    new WatchedStatement(statement, WatchedObject.text(arguments), () => noteWrite()).as(kind)

  private def noteWrite(): Unit =
    if (connection.getAutoCommit) DatabaseCall.current.foreach(_.noteCommit()) else hasWritten = true

  /** A commit that the server rejects has changed nothing. If the connection was lost, the outcome is unknown. */
  private def commit(work: => AnyRef): AnyRef = {
    val isChange = hasWritten
    hasWritten = false
    try {
      val result = work
      if (isChange) DatabaseCall.current.foreach(_.noteCommit())
      result
    } catch {
      case failure: SQLException =>
        if (isChange && DatabaseCall.isOutage(failure)) DatabaseCall.current.foreach(_.noteCommit())
        throw failure
    }
  }
}

private object WatchedConnection {
  def of(connection: Connection): Connection = new WatchedConnection(connection).as(classOf[Connection])
}

private final class WatchedStatement(statement: Statement, prepared: Option[String], noteWrite: () => Unit)
    extends WatchedObject(statement) {
  override protected def call(method: Method, arguments: Array[AnyRef]): AnyRef = {
    if (method.getName.startsWith("execute") && WatchedObject.text(arguments).orElse(prepared).forall(writes)) noteWrite()
    super.call(method, arguments)
  }

  /** Allocating ids for new rows does not count: it is invisible and happens in transactions of its own. */
  private def writes(text: String): Boolean =
    !text.stripLeading.regionMatches(true, 0, "select", 0, 6) && !text.contains("SEQUENCE_TABLE")
}

/** Forwards all calls and records those that fail. */
private abstract class WatchedObject(target: AnyRef) extends InvocationHandler {
  def as[T](kind: Class[T]): T =
    kind.cast(Proxy.newProxyInstance(classOf[WatchedDriver].getClassLoader, Array[Class[_]](kind), this))

  override final def invoke(proxy: AnyRef, method: Method, arguments: Array[AnyRef]): AnyRef = {
    val given = Option(arguments).getOrElse(Array.empty[AnyRef])
    if (method.getName == "equals") Boolean.box(proxy eq given(0))
    else
      try call(method, given)
      catch {
        case failure: SQLException =>
          DatabaseCall.current.foreach(_.noteFailure(failure))
          throw failure
      }
  }

  protected def call(method: Method, arguments: Array[AnyRef]): AnyRef =
    try method.invoke(target, arguments: _*)
    catch { case failure: InvocationTargetException => throw failure.getCause }
}

private object WatchedObject {
  def text(arguments: Array[AnyRef]): Option[String] = arguments.headOption.collect { case text: String => text }
}
