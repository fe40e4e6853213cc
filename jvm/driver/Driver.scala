package headgate.driver

import java.nio.file.{Files, Path}
import java.util.Properties

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.Groups
import org.apache.spark.deploy.SparkSubmit
import org.apache.spark.sql.connect.headgate.Activity

/**
 * Spark's own submission, after what has to be settled in a JVM before anything of Hadoop is used in it. The arguments are
 * those of spark-submit; the properties file is the one they name.
 */
object Driver {
  private val secretProperty = "spark.headgate.metastore.secret"
  /** Only Spark Connect servers have it. */
  private val busyFileProperty = "spark.headgate.busyFile"

  def main(arguments: Array[String]): Unit = {
    arguments.sliding(2).collectFirst { case Array("--properties-file", file) => prepare(Path.of(file)) }
    SparkSubmit.main(arguments)
  }

  def prepare(propertiesFile: Path): Unit = {
    val properties = readProperties(propertiesFile)
    Option(properties.getProperty(secretProperty)).foreach(showSecret(ProcessUser.name, _))
    ProcessUser.logIn()
    Option(properties.getProperty(busyFileProperty)).foreach(file => Activity.report(Path.of(file)))
    if (YarnCluster.isMaster(properties)) YarnCluster.prepare(properties)
  }

  def readProperties(file: Path): Properties = {
    val properties = new Properties
    val reader = Files.newBufferedReader(file)
    try properties.load(reader)
    finally reader.close()
    properties
  }

  /**
   * Our metastores serve who names the secret as a group of theirs. Whose groups are whose is read once in a JVM, from
   * whichever configuration comes first: Spark's own settings come too late.
   */
  private def showSecret(name: String, secret: String): Unit = {
    val conf = new Configuration
    conf.set("hadoop.user.group.static.mapping.overrides", s"$name=$secret")
    Groups.getUserToGroupsMappingService(conf)
    ()
  }
}
