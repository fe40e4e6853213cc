package org.apache.spark.headgate

import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator
import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging

/** What Spark keeps for its own packages: hence the name of this one. */
object SparkInternals extends Logging {
  def activeContext: Option[SparkContext] = SparkContext.getActive

  def silenceLog(): Unit = {
    initializeLogIfNecessary(false, true)
    Configurator.setRootLevel(Level.OFF)
  }

  /** Whoever logs next sets the log up as the first in a JVM does. */
  def resetLog(): Unit = Logging.uninitialize()
}
