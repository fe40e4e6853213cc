package org.apache.spark.sql.connect.headgate

import java.util.concurrent.CountDownLatch

import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connect.service.SparkConnectService

/**
 * The main class of a warm server: a Spark Connect server whose sessions share one class loader. With Spark's own main
 * class each session has its own, and Spark would compile the code of the same query again for each command, because it
 * looks for compiled code by class loader.
 */
object WarmServer extends Logging {
  def main(args: Array[String]): Unit =
    try {
      val session = SparkSession.builder().config("spark.sql.artifact.isolation.enabled", "false").getOrCreate()
      // Threads started from here on inherit this class loader, which also finds the classes of jars that statements add.
      Thread.currentThread().setContextClassLoader(session.sharedState.jarClassLoader)
      SparkConnectService.start(session.sparkContext)
      // Our server reads the port from this line (`readPort`).
      logInfo(s"Spark Connect server started at: ${SparkConnectService.hostAddress}:${SparkConnectService.localPort}")
      new CountDownLatch(1).await() // until the process gets a signal
    } catch {
      case failure: Throwable =>
        logError("the Spark Connect server could not start", failure)
        System.exit(1) // other threads would keep the process
    }
}
