package headgate.metastore

import java.util.concurrent.{Executors, LinkedBlockingQueue, ScheduledExecutorService, SynchronousQueue, ThreadFactory, ThreadPoolExecutor, TimeUnit}

import org.apache.hadoop.hive.metastore.api.ThriftHiveMetastore
import org.apache.thrift.protocol.{TBinaryProtocol, TProtocol}
import org.apache.thrift.server.{ServerContext, TServerEventHandler, TThreadPoolServer}
import org.apache.thrift.transport.{TServerSocket, TSocket, TTransport}
import org.apache.thrift.{TProcessor, TProcessorFactory}

final class MetastoreServer(secret: Array[Byte], clients: WaitingClients) {
  private val minThreads = 4
  private val maxThreads = 200
  private val idleSeconds = 60L
  /** After this time a client that has not proven that it knows the secret is disconnected, even if it is still sending. */
  private val greetingSeconds = 10L
  /** Above this number the oldest unauthenticated client is disconnected, so that silent clients cannot use up all threads. */
  private val maxNewcomers = 100

  /** Only the thread that calls `serve` keeps the process alive. */
  private val daemons: ThreadFactory = work => {
    val thread = new Thread(work)
    thread.setDaemon(true)
    thread
  }
  private val timer: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor(daemons)

  /** Clients of the last seconds, the oldest first. */
  private val recent = new LinkedBlockingQueue[Newcomer]

  def serve(handler: ThriftHiveMetastore.Iface): Unit = {
    val all = new ThriftHiveMetastore.Processor(handler)
    val processors = new TProcessorFactory(null) {
      // `newcomers` creates the transport.
      override def getProcessor(transport: TTransport): TProcessor =
        new GuardedProcessor(transport.asInstanceOf[Newcomer], all, secret)
    }
    val server = new TThreadPoolServer(
      new TThreadPoolServer.Args(newcomers)
        .processorFactory(processors)
        .transportFactory(new SharedSecret(secret))
        .protocolFactory(new TBinaryProtocol.Factory)
        .executorService(
          new ThreadPoolExecutor(minThreads, maxThreads, idleSeconds, TimeUnit.SECONDS, new SynchronousQueue, daemons)))
    server.setServerEventHandler(ReleaseStore)
    server.serve()
  }

  private def newcomers: TServerSocket = new TServerSocket(clients.socket) {
    override def accept(): TSocket = {
      val newcomer = new Newcomer(clients.next())
      recent.add(newcomer)
      while (recent.size > maxNewcomers) Option(recent.poll()).foreach(_.closeStranger())
      val expire: Runnable = () => {
        recent.remove(newcomer)
        newcomer.closeStranger()
      }
      timer.schedule(expire, greetingSeconds, TimeUnit.SECONDS)
      newcomer
    }
  }

  /** A thread has a database connection as long as it serves a client, and releases it afterwards. */
  private object ReleaseStore extends TServerEventHandler {
    override def preServe(): Unit = ()
    override def createContext(in: TProtocol, out: TProtocol): ServerContext = null
    override def processContext(context: ServerContext, in: TTransport, out: TTransport): Unit = ()
    override def deleteContext(context: ServerContext, in: TProtocol, out: TProtocol): Unit =
      ThreadStore.release()
  }
}
