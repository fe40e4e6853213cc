package headgate.driver

import java.util.Properties

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.yarn.client.api.YarnClient
import org.apache.hadoop.yarn.conf.YarnConfiguration

/**
 * Checks that the YARN cluster answers and provides Spark's jars there before Spark starts. Hadoop itself would try to
 * connect for a quarter of an hour, and Spark would upload all its jars, 420 MB, with every application.
 */
object YarnCluster {
  def isMaster(properties: Properties): Boolean = properties.getProperty("spark.master") == "yarn"

  /** On failure, ends the JVM with one line that gives the reason. */
  def prepare(properties: Properties): Unit = {
    val conf = settings(properties)
    must("the ResourceManager of YARN does not answer")(askResourceManager(conf))
    val (fileSystem, folder) = must("the file system of YARN cannot be used")(openFileSystem(conf, properties))
    if (!SparkArchive.isSettled(properties)) {
      val archive = must(s"the jars of Spark could not be uploaded to $folder")(SparkArchive.provide(fileSystem, folder))
      System.setProperty(SparkArchive.property, archive)
    }
    fileSystem.close()
  }

  /** The operator's files with shorter timeouts, and the settings of the account and the program. */
  private def settings(properties: Properties): YarnConfiguration = {
    val conf = new YarnConfiguration
    impatience.foreach { case (name, value) => conf.set(name, value) }
    for ((name, value) <- properties.asScala if name.startsWith(hadoopPrefix)) {
      conf.set(name.stripPrefix(hadoopPrefix), value)
    }
    conf
  }

  private def askResourceManager(conf: YarnConfiguration): Unit = {
    val client = YarnClient.createYarnClient()
    try {
      client.init(conf)
      client.start()
      client.getYarnClusterMetrics
      ()
    } finally client.stop()
  }

  /** Returns the file system and the folder for Spark's files. Not cached, so that the program gets the usual timeouts. */
  private def openFileSystem(conf: YarnConfiguration, properties: Properties): (FileSystem, Path) = {
    val wanted = Option(properties.getProperty("spark.yarn.stagingDir")).map(new Path(_))
    val fileSystem = FileSystem.newInstance(wanted.fold(FileSystem.getDefaultUri(conf))(_.toUri), conf)
    val folder = wanted.getOrElse(fileSystem.getHomeDirectory)
    fileSystem.exists(folder) // only checks that it answers
    (fileSystem, folder)
  }

  private def must[T](failure: String)(work: => T): T =
    try work
    catch {
      case NonFatal(error) =>
        System.err.println(s"$failure: ${Option(error.getMessage).getOrElse(error.toString).takeWhile(_ != '\n')}")
        sys.exit(1)
    }

  private val hadoopPrefix = "spark.hadoop."

  private val impatience = Map(
    "dfs.client.failover.max.attempts" -> "4",
    "ipc.client.connect.max.retries" -> "3",
    "ipc.client.connect.max.retries.on.timeouts" -> "1",
    "ipc.client.connect.timeout" -> "10000",
    "yarn.resourcemanager.connect.max-wait.ms" -> "10000",
    "yarn.resourcemanager.connect.retry-interval.ms" -> "5000")
}
