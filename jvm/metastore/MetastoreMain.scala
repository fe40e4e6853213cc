package headgate.metastore

import java.nio.file.{Files, Path, StandardCopyOption}

import org.apache.hadoop.hive.metastore.HiveMetaStore.HMSHandler
import org.apache.hadoop.security.UserGroupInformation

/**
 * A Hive metastore out of Spark's own jars, as one process for one catalog. Hive's own main listens on every interface
 * and asks nobody who they are; this one listens on the loopback, serves who knows the secret, and makes the whole
 * schema before it serves anybody.
 *
 * The only argument is the properties file. The last step of a start, or the reason why there is none, is written into
 * the report file: `LISTENING <port>`, where a Spark that starts meanwhile may connect already, `READY <port>` or
 * `FAILED <reason>`.
 */
object MetastoreMain {
  def main(arguments: Array[String]): Unit = {
    val settings = MetastoreSettings.read(Path.of(arguments(0)))
    CappedLog.open(settings.logFile)
    try {
      serve(settings)
    } catch {
      case failure: Throwable =>
        failure.printStackTrace()
        report(settings.reportFile, s"FAILED ${oneLine(failure)}")
        // Not exit: threads of a half-made server must not hold it up.
        Runtime.getRuntime.halt(1)
    }
  }

  private def serve(settings: MetastoreSettings): Unit = {
    val server = new MetastoreServer(settings.secret, settings.port)
    report(settings.reportFile, s"LISTENING ${server.port}")
    // Java's own login fails for a uid without a name.
    UserGroupInformation.setLoginUser(UserGroupInformation.createRemoteUser(settings.userName))
    MetastoreDatabase.whileLocked(settings) { connection =>
      MetastoreSchema.create(settings.hiveConf)
      MetastoreDatabase.addIndex(connection)
      HiveTransactions.leaveUnpooled(settings.hiveConf)
    }
    val handler = new HMSHandler("metastore", settings.hiveConf, true)
    report(settings.reportFile, s"READY ${server.port}")
    server.serve(TruthfulHandler.over(handler, settings.hiveConf, settings.databaseWaitSeconds))
    throw new IllegalStateException("the server has stopped listening")
  }

  private def report(file: Path, text: String): Unit = {
    val unfinished = file.resolveSibling(s"${file.getFileName}.new")
    Files.writeString(unfinished, text + "\n")
    Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
  }

  /** The innermost reason is the one that tells. */
  private def oneLine(failure: Throwable): String = {
    val root = Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(20).toSeq.last
    Option(root.getMessage).getOrElse(root.toString).linesIterator.take(1).mkString.take(500)
  }
}
