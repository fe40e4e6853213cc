package org.apache.spark.sql.connect.headgate

import java.io.IOException
import java.net.{InetSocketAddress, StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.ByteBuffer
import java.nio.channels.{ServerSocketChannel, SocketChannel}
import java.nio.file.{Files, Path}

import org.apache.spark.sql.connect.service.SparkConnectService

/**
 * A second entrance to the Spark Connect server of this JVM: a Unix socket in a folder that only the account can access.
 * Any program on the machine can take Spark's port as soon as this JVM has ended, and would receive the token and the
 * statements of clients. So clients use this socket instead.
 */
object OwnSocket {
  private val pieceBytes = 64 * 1024

  /** `file` may be relative to the working directory, because a socket address has at most 107 bytes. */
  def open(file: Path): Unit = {
    Files.deleteIfExists(file)
    val socket = ServerSocketChannel.open(StandardProtocolFamily.UNIX)
    socket.bind(UnixDomainSocketAddress.of(file))
    inBackground("headgate-socket") {
      while (true)
        try serve(socket.accept())
        catch { case _: Throwable => Thread.sleep(100) } // for example no descriptors or threads left; the latter is an Error
    }
  }

  private def serve(client: SocketChannel): Unit = {
    var server: SocketChannel = null
    var isServed = false
    try {
      // The port belongs to this JVM while its server runs.
      if (SparkConnectService.started && !SparkConnectService.stopped) {
        server = SocketChannel.open(new InetSocketAddress("127.0.0.1", SparkConnectService.localPort))
        server.socket.setTcpNoDelay(true)
        inBackground("headgate-socket-in")(copy(client, server))
        inBackground("headgate-socket-out")(copy(server, client))
        isServed = true
      }
    } finally if (!isServed) {
      client.close()
      if (server != null) server.close()
    }
  }

  private def copy(from: SocketChannel, to: SocketChannel): Unit =
    try {
      val piece = ByteBuffer.allocateDirect(pieceBytes)
      while (from.read(piece) >= 0) {
        piece.flip()
        while (piece.hasRemaining) to.write(piece)
        piece.clear()
      }
    } catch {
      case _: IOException => () // the other direction ends with it
    } finally {
      from.close()
      to.close()
    }

  private def inBackground(name: String)(work: => Unit): Unit = {
    val thread = new Thread(() => work, name)
    thread.setDaemon(true)
    thread.start()
  }
}
