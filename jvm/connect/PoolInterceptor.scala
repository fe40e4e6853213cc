package headgate.connect

import java.nio.charset.StandardCharsets

import org.apache.spark.headgate.SparkInternals
import org.sparkproject.connect.grpc.{ForwardingServerCallListener, Metadata, ServerCall, ServerCallHandler, ServerInterceptor}

/**
 * Puts the jobs of a Spark Connect request into the scheduler pool that its header names, which Connect itself does not
 * support. The thread that runs a plan inherits the properties of the thread that receives the request, so the pool is set
 * while that one handles the request.
 */
final class PoolInterceptor extends ServerInterceptor {
  import PoolInterceptor._

  override def interceptCall[Request, Response](
      call: ServerCall[Request, Response],
      headers: Metadata,
      next: ServerCallHandler[Request, Response]): ServerCall.Listener[Request] = {
    val listener = next.startCall(call, headers)
    Option(headers.get(header)) match {
      case None => listener
      case Some(name) => new InPool[Request](listener, new String(name, StandardCharsets.UTF_8))
    }
  }
}

object PoolInterceptor {
  /** Binary, because pool names may contain any character. */
  private val header = Metadata.Key.of("headgate-pool-bin", Metadata.BINARY_BYTE_MARSHALLER)
  private val property = "spark.scheduler.pool"

  private final class InPool[Request](listener: ServerCall.Listener[Request], pool: String)
      extends ForwardingServerCallListener.SimpleForwardingServerCallListener[Request](listener) {
    override def onHalfClose(): Unit = {
      setPool(pool)
      try super.onHalfClose()
      finally setPool(null) // the thread will handle other requests
    }

    private def setPool(name: String): Unit = SparkInternals.activeContext.foreach(_.setLocalProperty(property, name))
  }
}
