package headgate.metastore

import java.net.{BindException, InetAddress, InetSocketAddress, ServerSocket, Socket, SocketTimeoutException}

/**
 * Listens on loopback as soon as it is constructed, on the wanted port or, if that is taken, on any free one. Clients wait
 * in the backlog until they are accepted.
 */
final class WaitingClients(wantedPort: Int) {
  private val backlog = 50
  private var first: Option[Socket] = None

  val socket: ServerSocket =
    try listen(wantedPort)
    catch { case _: BindException if wantedPort != 0 => listen(0) }

  private def listen(port: Int): ServerSocket = {
    val made = new ServerSocket
    made.setReuseAddress(true)
    made.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port), backlog)
    made
  }

  /** Returns when a client has connected, at the latest after this time. */
  def awaitFirst(milliseconds: Int): Unit = if (milliseconds > 0) {
    socket.setSoTimeout(milliseconds)
    try first = Some(socket.accept())
    catch { case _: SocketTimeoutException => }
    socket.setSoTimeout(0)
  }

  /** Called by one thread. */
  def next(): Socket = {
    val client = first.getOrElse(socket.accept())
    first = None
    client
  }
}
