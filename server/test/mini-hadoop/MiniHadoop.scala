import java.nio.file.{Files, Path, StandardCopyOption}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileSystem
import org.apache.hadoop.hdfs.MiniDFSCluster
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem
import org.apache.hadoop.yarn.conf.YarnConfiguration
import org.apache.hadoop.yarn.server.nodemanager.{Context, LocalDirsHandlerService, NodeManager, ResourceView}
import org.apache.hadoop.yarn.server.nodemanager.webapp.WebServer
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager
import org.apache.hadoop.yarn.server.security.ApplicationACLsManager

/**
 * HDFS with one DataNode and optionally YARN with one NodeManager, all on 127.0.0.1 and on free ports. Hadoop's own mini
 * clusters bind to the address of the host name and do not report every port. Arguments: a folder, and optionally the word
 * `yarn`. The configuration for clients is in the folder's `conf`, which appears last. The process ends at the end of its
 * input, and every container with it.
 */
object MiniHadoop {
  private val here = "127.0.0.1"
  private val addresses =
    Seq("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")

  def main(arguments: Array[String]): Unit = {
    val folder = Path.of(arguments.head)
    DefaultMetricsSystem.setMiniClusterMode(true)
    val conf = new YarnConfiguration
    settings(folder).foreach { case (name, value) => conf.set(name, value) }
    val hdfs = new MiniDFSCluster.Builder(conf, folder.resolve("hdfs").toFile).numDataNodes(1).build()
    FileSystem.setDefaultUri(conf, hdfs.getURI)
    val stopYarn = if (arguments.contains("yarn")) startYarn(conf) else () => ()
    writeClientConf(conf, folder)
    while (System.in.read() != -1) {}
    stopYarn()
    hdfs.shutdown()
    sys.exit()
  }

  private def startYarn(conf: YarnConfiguration): () => Unit = {
    val resourceManager = new ResourceManager
    resourceManager.init(conf)
    resourceManager.start()
    val nodeManager = new NodeManagerWithoutWeb
    nodeManager.init(conf)
    nodeManager.start()
    () => {
      nodeManager.stop()
      resourceManager.stop()
    }
  }

  private def settings(folder: Path): Map[String, String] = {
    val own = Map(
      "dfs.replication" -> "1",
      "dfs.permissions.enabled" -> "false",
      "dfs.namenode.fs-limits.min-block-size" -> "1024",
      "yarn.is.minicluster" -> "true", // puts the web server's port into the configuration
      "yarn.nodemanager.local-dirs" -> folder.resolve("containers").toString,
      "yarn.nodemanager.log-dirs" -> folder.resolve("container-logs").toString,
      "yarn.nodemanager.resource.memory-mb" -> "6144",
      "yarn.nodemanager.resource.cpu-vcores" -> "8",
      "yarn.nodemanager.vmem-check-enabled" -> "false",
      "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage" -> "100",
      "yarn.scheduler.minimum-allocation-mb" -> "128",
      "yarn.scheduler.maximum-allocation-mb" -> "6144",
      // The other schedulers need a file of queues.
      "yarn.resourcemanager.scheduler.class" ->
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler")
    val nodeAddresses = Seq("address", "localizer.address", "collector-service.address", "webapp.address")
    own ++
      addresses.map(name => s"yarn.resourcemanager.$name" -> s"$here:0") ++
      nodeAddresses.map(name => s"yarn.nodemanager.$name" -> s"$here:0")
  }

  private def writeClientConf(conf: Configuration, folder: Path): Unit = {
    val unfinished = Files.createDirectory(folder.resolve("conf.unfinished"))
    write(conf, unfinished.resolve("core-site.xml"), Seq("fs.defaultFS"))
    write(conf, unfinished.resolve("hdfs-site.xml"), Seq("dfs.replication", "dfs.namenode.http-address"))
    write(conf, unfinished.resolve("yarn-site.xml"), addresses.map(name => s"yarn.resourcemanager.$name"))
    Files.move(unfinished, folder.resolve("conf"), StandardCopyOption.ATOMIC_MOVE)
  }

  private def write(conf: Configuration, file: Path, names: Seq[String]): Unit = {
    val chosen = new Configuration(false)
    names.foreach(name => chosen.set(name, conf.get(name)))
    val out = Files.newOutputStream(file)
    try chosen.writeXml(out)
    finally out.close()
  }
}

/** All web servers of YARN in a JVM share the filter of the last one, which must be the ResourceManager's. */
final class NodeManagerWithoutWeb extends NodeManager {
  override protected def createWebServer(
      context: Context,
      view: ResourceView,
      rights: ApplicationACLsManager,
      folders: LocalDirsHandlerService): WebServer =
    new WebServer(context, view, rights, folders) {
      override protected def serviceStart(): Unit = ()
    }
}
