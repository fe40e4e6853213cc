package headgate.driver

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.Properties

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.io.Text
import org.apache.hadoop.security.{Groups, UserGroupInformation}
import org.apache.hadoop.security.token.{Token, TokenIdentifier}
import org.apache.spark.deploy.SparkSubmit
import org.apache.spark.sql.connect.headgate.{Activity, OwnSocket}

/**
 * Spark's own submission, after what has to be settled in a JVM before anything of Hadoop is used in it. The arguments are
 * those of spark-submit; the properties file is the one they name.
 */
object Driver {
  private val secretProperty = "spark.headgate.metastore.secret"
  /** Only Spark Connect servers have it. */
  private val busyFileProperty = "spark.headgate.busyFile"
  private val socketProperty = "spark.headgate.socket"

  def main(arguments: Array[String]): Unit = {
    arguments.sliding(2).collectFirst { case Array("--properties-file", file) => prepare(Path.of(file)) }
    SparkSubmit.main(arguments)
  }

  def prepare(propertiesFile: Path): Unit = {
    val properties = readProperties(propertiesFile)
    val secret = Option(properties.getProperty(secretProperty))
    if (secret.isDefined) nameGroup(ProcessUser.name)
    ProcessUser.logIn()
    secret.foreach(keepSecret)
    Option(properties.getProperty(busyFileProperty)).foreach(file => Activity.report(Path.of(file)))
    Option(properties.getProperty(socketProperty)).foreach(file => OwnSocket.open(Path.of(file)))
    if (YarnCluster.isMaster(properties)) YarnCluster.prepare(properties)
  }

  def readProperties(file: Path): Properties = {
    val properties = new Properties
    val reader = Files.newBufferedReader(file)
    try properties.load(reader)
    finally reader.close()
    properties
  }

  /** Hive's client asks for the user's groups, and Hadoop would start a shell to find them. Read once in a JVM. */
  private def nameGroup(user: String): Unit = {
    val conf = new Configuration
    conf.set("hadoop.user.group.static.mapping.overrides", s"$user=$user")
    Groups.getUserToGroupsMappingService(conf)
    ()
  }

  /**
   * Our metastores let in who knows the secret (`jvm/metastore/SharedSecret.scala`). Hive's client takes it from a token of
   * its user that has the signature which the settings name (`catalog/metastores/spark-catalog.ts`).
   */
  private def keepSecret(secret: String): Unit = {
    val (name, password) = ("headgate".getBytes(UTF_8), secret.getBytes(UTF_8))
    val token = new Token[TokenIdentifier](name, password, new Text("HIVE_DELEGATION_TOKEN"), new Text("headgate"))
    UserGroupInformation.getLoginUser.addToken(token)
    ()
  }
}
