package headgate.driver

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.Properties

import headgate.connect.TokenInterceptor
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.io.Text
import org.apache.hadoop.security.{Groups, UserGroupInformation}
import org.apache.hadoop.security.token.{Token, TokenIdentifier}
import org.apache.spark.deploy.SparkSubmit
import org.apache.spark.sql.connect.headgate.{Activity, OwnSocket}

/**
 * Prepares the JVM before any Hadoop class is used, then runs spark-submit. The arguments are those of spark-submit and
 * include the properties file.
 */
object Driver {
  private val secretProperty = "spark.headgate.metastore.secret"
  /** These three are set only for Spark Connect servers. */
  private val tokenFileProperty = "spark.headgate.tokenFile"
  private val busyFileProperty = "spark.headgate.busyFile"
  private val socketProperty = "spark.headgate.socket"

  def main(arguments: Array[String]): Unit = {
    arguments.sliding(2).collectFirst { case Array("--properties-file", file) => prepare(Path.of(file)) }
    SparkSubmit.main(arguments)
  }

  def prepare(propertiesFile: Path): Unit = {
    val properties = readProperties(propertiesFile)
    Option(properties.getProperty(tokenFileProperty)).foreach(file => TokenInterceptor.takeToken(Path.of(file)))
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

  /** Hive's client needs the user's groups, and Hadoop would start a shell to find them. Must be set before the first use. */
  private def nameGroup(user: String): Unit = {
    val conf = new Configuration
    conf.set("hadoop.user.group.static.mapping.overrides", s"$user=$user")
    Groups.getUserToGroupsMappingService(conf)
    ()
  }

  /**
   * Our metastores authenticate clients by the secret (`jvm/metastore/SharedSecret.scala`). Hive's client takes it from a
   * token of its user with the signature that the settings name (`catalog/metastores/spark-catalog.ts`).
   */
  private def keepSecret(secret: String): Unit = {
    val (name, password) = ("headgate".getBytes(UTF_8), secret.getBytes(UTF_8))
    val token = new Token[TokenIdentifier](name, password, new Text("HIVE_DELEGATION_TOKEN"), new Text("headgate"))
    UserGroupInformation.getLoginUser.addToken(token)
    ()
  }
}
