package org.apache.spark.sql.connect.headgate

import java.io.IOException
import java.net.{InetSocketAddress, StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.ByteBuffer
import java.nio.channels.{ServerSocketChannel, SocketChannel}
import java.nio.file.{Files, Path}

import org.apache.spark.sql.connect.service.SparkConnectService

/**
 * A second way into the Spark Connect server of this JVM: a Unix socket in a folder that only the account can reach. The
 * port that Spark listens on can be taken by any program of the machine as soon as this JVM is dead, and clients show
 * their token and their statements to whatever listens there; they come in here instead.
 */
object OwnSocket {
  private val pieceBytes = 64 * 1024

  /** `file` may be relative to the current folder: addresses of this kind have 107 bytes at most. */
  def open(file: Path): Unit = {
    Files.deleteIfExists(file)
    val socket = ServerSocketChannel.open(StandardProtocolFamily.UNIX)
    socket.bind(UnixDomainSocketAddress.of(file))
    inBackground("headgate-socket") {
      while (true)
        try serve(socket.accept())
        catch { case _: Throwable => Thread.sleep(100) } // no descriptors or threads left, say: an Error for threads
    }
  }

  private def serve(client: SocketChannel): Unit = {
    var server: SocketChannel = null
    var isServed = false
    try {
      // The port is this JVM's own as long as its server runs.
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
