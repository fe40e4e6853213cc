package org.apache.spark.headgate

import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator
import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging

/** Access to package-private members of Spark, hence the package name. */
object SparkInternals extends Logging {
  def activeContext: Option[SparkContext] = SparkContext.getActive

  def silenceLog(): Unit = {
    initializeLogIfNecessary(false, true)
    Configurator.setRootLevel(Level.OFF)
  }

  /** Makes the next log call initialise logging again. */
  def resetLog(): Unit = Logging.uninitialize()
}
