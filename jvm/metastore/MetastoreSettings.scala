package headgate.metastore

import java.nio.charset.StandardCharsets
import java.nio.file.Path

import scala.jdk.CollectionConverters._

import org.apache.hadoop.hive.conf.HiveConf

import headgate.driver.Driver

/** The properties file: `headgate.*` is for us, everything else for Hive and Hadoop. */
final class MetastoreSettings private (properties: Map[String, String]) {
  private def own(name: String): String =
    properties.getOrElse(s"headgate.$name", throw new IllegalArgumentException(s"headgate.$name is missing"))

  val secret: Array[Byte] = own("secret").getBytes(StandardCharsets.UTF_8)
  /** The preferred port, the same after a restart; 0: any. */
  val port: Int = own("port").toInt
  /** How long it waits for its first client before it uses the processors. */
  val firstClientWaitMs: Int = own("first-client-wait-ms").toInt
  val userName: String = own("user")
  val reportFile: Path = Path.of(own("report"))
  val logFile: Path = Path.of(own("log"))
  val databaseWaitSeconds: Int = own("database-wait-seconds").toInt
  // Lazy, so that HiveConf is loaded only when the metastore already listens.
  lazy val jdbcUrl: String = properties(HiveConf.ConfVars.METASTORECONNECTURLKEY.varname)
  lazy val jdbcUser: String = properties(HiveConf.ConfVars.METASTORE_CONNECTION_USER_NAME.varname)
  lazy val jdbcPassword: String = properties(HiveConf.ConfVars.METASTOREPWD.varname)

  lazy val hiveConf: HiveConf = {
    val conf = new HiveConf(classOf[MetastoreSettings])
    for ((key, value) <- properties if !key.startsWith("headgate.")) conf.set(key, value)
    conf.setVar(HiveConf.ConfVars.METASTORECONNECTURLKEY, WatchedDriver.addressOf(jdbcUrl))
    conf.setVar(HiveConf.ConfVars.METASTORE_CONNECTION_DRIVER, classOf[WatchedDriver].getName)
    conf
  }
}

object MetastoreSettings {
  def read(file: Path): MetastoreSettings = new MetastoreSettings(Driver.readProperties(file).asScala.toMap)
}
