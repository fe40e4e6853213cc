package headgate.training

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path}
import java.sql.DriverManager

import scala.util.Try

import org.apache.hadoop.hive.metastore.HiveMetaStore
import org.apache.hadoop.hive.conf.HiveConf
import org.apache.spark.SparkContext

import headgate.metastore.{MetastoreServer, WaitingClients}
import headgate.program.ScalaProgram

/**
 * Called by the Python program whose run creates the class-data archive (`class-archive.ts`). Loads the classes that all
 * our other JVMs load, so that one archive serves the metastore, the Connect server, Scala programs and drivers.
 */
object Training {
  val secret = "training"

  /** Starts a metastore on an in-memory database and returns its port. */
  def startMetastore(folder: String): Int = {
    val conf = new HiveConf(classOf[HiveMetaStore])
    conf.set("javax.jdo.option.ConnectionURL", "jdbc:derby:memory:training;create=true")
    conf.set("javax.jdo.option.ConnectionDriverName", "org.apache.derby.iapi.jdbc.AutoloadedDriver")
    conf.set("datanucleus.connectionPoolingType", "DBCP")
    conf.set("datanucleus.schema.autoCreateAll", "true")
    conf.set("hive.metastore.schema.verification", "false")
    conf.set("hive.metastore.warehouse.dir", s"file://$folder/warehouse")
    val handler = HiveMetaStore.newRetryingHMSHandler("metastore", conf, false)
    val clients = new WaitingClients(0)
    val server = new MetastoreServer(secret.getBytes(StandardCharsets.UTF_8), clients)
    val thread = new Thread((() => server.serve(handler)): Runnable)
    thread.setDaemon(true)
    thread.start()
    clients.socket.getLocalPort
  }

  def touchRest(context: SparkContext, folder: String): Unit = {
    touchClasses()
    ConnectTraining.run(context)
    compile(folder, "main.scala", "object Main { def main(args: Array[String]): Unit = println(Seq(1).map(_ + 1).sum) }")
    compile(
      folder,
      "statements.scala",
      """case class Item(n: Int)
        |val items = Seq(Item(1), Item(2)).toDS()
        |println(items.filter($"n" > 1).count())
        |println(spark.range(3).count())""".stripMargin)
  }

  private def touchClasses(): Unit = {
    val names = Seq(
      "headgate.connect.PoolInterceptor",
      "headgate.metastore.MetastoreMain",
      "headgate.metastore.MetastoreDatabase",
      "headgate.metastore.MetastoreSchema",
      "headgate.standby.StandbyDriver",
      "headgate.standby.WarmUp",
      "headgate.storage.StorageFileSystem",
      "org.apache.spark.sql.connect.headgate.WarmServer",
      "org.datanucleus.store.rdbms.adapter.PostgreSQLAdapter",
      "org.datanucleus.store.rdbms.adapter.PostgreSQLTypeInfo")
    names.foreach(name => Try(Class.forName(name)))
    // Nothing listens on this port, but the attempt loads the driver's classes.
    Try(DriverManager.getConnection("jdbc:postgresql://127.0.0.1:1/training", "nobody", "none"))
    ()
  }

  private def compile(folder: String, name: String, text: String): Unit = {
    val file = Path.of(folder, name)
    Files.writeString(file, text)
    ScalaProgram.main(Array(file.toString, "-"))
  }
}
