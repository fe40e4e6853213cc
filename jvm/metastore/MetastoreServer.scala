package headgate.metastore

import java.net.{BindException, InetAddress, InetSocketAddress, ServerSocket}
import java.util.concurrent.{Executors, LinkedBlockingQueue, ScheduledExecutorService, SynchronousQueue, ThreadFactory, ThreadPoolExecutor, TimeUnit}

import org.apache.hadoop.hive.metastore.api.ThriftHiveMetastore
import org.apache.thrift.protocol.{TBinaryProtocol, TProtocol}
import org.apache.thrift.server.{ServerContext, TServerEventHandler, TThreadPoolServer}
import org.apache.thrift.transport.{TServerSocket, TSocket, TTransport}
import org.apache.thrift.{TProcessor, TProcessorFactory}

/** Listens once it is made, on the loopback: on the wanted port, else on any. Who comes before it serves waits. */
final class MetastoreServer(secret: Array[Byte], wantedPort: Int) {
  private val backlog = 50
  private val leastThreads = 4
  private val mostThreads = 200
  private val idleSeconds = 60L
  /** A client that has not proven by then that it knows the secret is cut off, even if it is still sending. */
  private val greetingSeconds = 10L
  /** The oldest stranger makes room for the next: many who keep still must not take the threads of all others. */
  private val mostNewcomers = 100

  private val socket: ServerSocket = {
    def listen(port: Int): ServerSocket = {
      val made = new ServerSocket
      made.setReuseAddress(true)
      made.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port), backlog)
      made
    }
    try listen(wantedPort)
    catch { case _: BindException if wantedPort != 0 => listen(0) }
  }
  /** Only who calls `serve` keeps the process alive. */
  private val daemons: ThreadFactory = work => {
    val thread = new Thread(work)
    thread.setDaemon(true)
    thread
  }
  private val timer: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor(daemons)

  /** Who has come in the last seconds, the oldest first. */
  private val newcomers = new LinkedBlockingQueue[Newcomer]

  val port: Int = socket.getLocalPort

  def serve(handler: ThriftHiveMetastore.Iface): Unit = {
    val all = new ThriftHiveMetastore.Processor(handler)
    val processors = new TProcessorFactory(null) {
      // What `newcomersOf` accepts is always one.
      override def getProcessor(transport: TTransport): TProcessor =
        new GuardedProcessor(transport.asInstanceOf[Newcomer], all, secret)
    }
    val server = new TThreadPoolServer(
      new TThreadPoolServer.Args(newcomersOf(socket))
        .processorFactory(processors)
        .transportFactory(new SharedSecret(secret))
        .protocolFactory(new TBinaryProtocol.Factory)
        .executorService(
          new ThreadPoolExecutor(leastThreads, mostThreads, idleSeconds, TimeUnit.SECONDS, new SynchronousQueue, daemons)))
    server.setServerEventHandler(ReleaseStore)
    server.serve()
  }

  private def newcomersOf(socket: ServerSocket): TServerSocket = new TServerSocket(socket) {
    override def accept(): TSocket = {
      val newcomer = new Newcomer(socket.accept())
      newcomers.add(newcomer)
      while (newcomers.size > mostNewcomers) Option(newcomers.poll()).foreach(_.closeStranger())
      val expire: Runnable = () => {
        newcomers.remove(newcomer)
        newcomer.closeStranger()
      }
      timer.schedule(expire, greetingSeconds, TimeUnit.SECONDS)
      newcomer
    }
  }

  /** A thread keeps its connection to the database with its client: when that is gone, so must it be. */
  private object ReleaseStore extends TServerEventHandler {
    override def preServe(): Unit = ()
    override def createContext(in: TProtocol, out: TProtocol): ServerContext = null
    override def processContext(context: ServerContext, in: TTransport, out: TTransport): Unit = ()
    override def deleteContext(context: ServerContext, in: TProtocol, out: TProtocol): Unit =
      ThreadStore.release()
  }
}
