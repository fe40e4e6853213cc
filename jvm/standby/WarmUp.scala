package headgate.standby

import java.nio.file.Path

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.FileSystem
import org.apache.spark.SparkConf
import org.apache.spark.headgate.SparkInternals
import org.apache.spark.sql.SparkSession

import headgate.driver.Driver

/**
 * Loads and compiles what most programs need, in a separate session that leaves no settings, log lines or event log.
 */
object WarmUp {
  def run(propertiesFile: Path): Unit = {
    SparkInternals.silenceLog()
    try {
      val session = SparkSession.builder().config(settings(propertiesFile)).getOrCreate()
      try work(session)
      finally {
        session.stop()
        SparkSession.clearActiveSession()
        SparkSession.clearDefaultSession()
        FileSystem.closeAll() // the cache ignores settings: the program would get these file systems
      }
    } catch {
      case _: Exception => () // the program will fail for the same reason and report it
    }
    SparkInternals.resetLog()
    // Returns unused memory to the system.
    System.gc()
  }

  private def settings(file: Path): SparkConf = {
    val conf = new SparkConf(false)
    for ((key, value) <- Driver.readProperties(file).asScala) conf.set(key, value)
    conf.set("spark.eventLog.enabled", "false")
    conf.set("spark.app.name", "warm-up")
    conf.set("spark.ui.enabled", "false")
  }

  private def work(session: SparkSession): Unit = {
    session.sql("select 1 as a").collect()
    session.range(0, 100, 1, 2).selectExpr("id % 3 as k").groupBy("k").count().orderBy("k").collect()
    session.sparkContext.parallelize(Seq(1, 2), 2).map(_ + 1).collect()
    ()
  }
}
