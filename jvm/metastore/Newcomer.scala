package headgate.metastore

import java.net.Socket
import java.nio.ByteBuffer

import org.apache.thrift.transport.{TSocket, TTransport, TTransportException}

/** A connection whose client has not yet proven that it knows the secret. Until then it can use only little memory. */
final class Newcomer(socket: Socket) extends TSocket(socket) {
  private val longestWord = 4096
  private val headBytes = 5
  private val saslStart = 1
  @volatile private var known = false
  private var transport: Option[TTransport] = None

  def isKnown: Boolean = known

  def letIn(): Unit = known = true

  def closeStranger(): Unit = if (!known) close()

  /** Calls `open` once and returns its result. */
  def opened(open: => TTransport): TTransport = {
    if (transport.isEmpty) transport = Some(open)
    transport.get
  }

  /** Waits for the first byte without consuming it. */
  def beginsWithSasl: Boolean = {
    inputStream_.mark(1)
    val first = inputStream_.read()
    inputStream_.reset()
    first == saslStart
  }

  /** Limits the length in the header of SASL messages, because memory is allocated for it in advance. */
  override def readAll(into: Array[Byte], at: Int, length: Int): Int = {
    val read = super.readAll(into, at, length)
    if (!known && transport.isEmpty && length == headBytes) {
      val announced = ByteBuffer.wrap(into, at + 1, 4).getInt
      if (announced < 0 || announced > longestWord) throw new TTransportException(TTransportException.END_OF_FILE)
    }
    read
  }
}
