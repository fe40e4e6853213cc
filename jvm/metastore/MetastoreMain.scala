package headgate.metastore

import java.nio.file.{Files, Path, StandardCopyOption}

import org.apache.hadoop.hive.metastore.HiveMetaStore.HMSHandler
import org.apache.hadoop.security.UserGroupInformation

/**
 * A Hive metastore from Spark's jars, one process per catalog. Hive's own main class listens on every interface without
 * authentication. This one listens on loopback, serves only clients that know the secret, and creates the whole schema
 * before it serves requests. On a machine with few processors it waits up to some seconds for the first client, so that
 * the Spark that starts at the same time has the processors.
 *
 * The only argument is the properties file. The report file contains how the start ended: `READY <port>` or
 * `FAILED <reason>`.
 */
object MetastoreMain {
  def main(arguments: Array[String]): Unit = {
    val settings = MetastoreSettings.read(Path.of(arguments(0)))
    try {
      val clients = new WaitingClients(settings.port)
      clients.awaitFirst(settings.firstClientWaitMs)
      CappedLog.open(settings.logFile)
      serve(settings, clients)
    } catch {
      case failure: Throwable =>
        failure.printStackTrace()
        report(settings.reportFile, s"FAILED ${oneLine(failure)}")
        // Not exit, because threads of a partly started server could delay it.
        Runtime.getRuntime.halt(1)
    }
  }

  private def serve(settings: MetastoreSettings, clients: WaitingClients): Unit = {
    // Java's login fails for a uid without a user name.
    UserGroupInformation.setLoginUser(UserGroupInformation.createRemoteUser(settings.userName))
    MetastoreDatabase.whileLocked(settings) { connection =>
      MetastoreSchema.create(settings.hiveConf)
      MetastoreDatabase.addIndex(connection)
      HiveTransactions.leaveUnpooled(settings.hiveConf)
    }
    val handler = new HMSHandler("metastore", settings.hiveConf, true)
    report(settings.reportFile, s"READY ${clients.socket.getLocalPort}")
    new MetastoreServer(settings.secret, clients).serve(TruthfulHandler.over(handler, settings.hiveConf, settings.databaseWaitSeconds))
    throw new IllegalStateException("the server has stopped listening")
  }

  private def report(file: Path, text: String): Unit = {
    val unfinished = file.resolveSibling(s"${file.getFileName}.new")
    Files.writeString(unfinished, text + "\n")
    Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
  }

  /** The innermost cause is the most specific. */
  private def oneLine(failure: Throwable): String = {
    val root = Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(20).toSeq.last
    Option(root.getMessage).getOrElse(root.toString).linesIterator.take(1).mkString.take(500)
  }
}
