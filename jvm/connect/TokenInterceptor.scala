package headgate.connect

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.security.MessageDigest

import org.sparkproject.connect.grpc.{Metadata, ServerCall, ServerCallHandler, ServerInterceptor, Status}

/**
 * Refuses requests without this server's token. Spark's own check takes the token from the environment or the settings,
 * which SQL of users can read. Here it comes in a file that no longer exists when the first statement runs, and only its
 * digest stays in memory.
 */
final class TokenInterceptor extends ServerInterceptor {
  import TokenInterceptor._

  override def interceptCall[Request, Response](
      call: ServerCall[Request, Response],
      headers: Metadata,
      next: ServerCallHandler[Request, Response]): ServerCall.Listener[Request] =
    if (isExpected(headers.get(header))) next.startCall(call, headers)
    else {
      call.close(Status.UNAUTHENTICATED.withDescription("Invalid authentication token"), new Metadata)
      new ServerCall.Listener[Request] {}
    }
}

object TokenInterceptor {
  private val header = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER)
  /** All requests are refused until it is set. */
  @volatile private var expected: Option[Array[Byte]] = None

  /** Reads the token and removes the file. */
  def takeToken(file: Path): Unit = {
    val token = Files.readString(file)
    Files.delete(file)
    expected = Some(digest(s"Bearer $token"))
  }

  private def isExpected(sent: String): Boolean =
    sent != null && expected.exists(MessageDigest.isEqual(_, digest(sent)))

  private def digest(text: String): Array[Byte] = MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8))
}
