package headgate.metastore

import java.nio.file.Path

import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilderFactory

/** Logs warnings to a rolling file, because Hive writes thousands of lines when its database is down. */
object CappedLog {
  private val sizeLimit = "2MB"

  def open(file: Path): Unit = {
    val builder = ConfigurationBuilderFactory.newConfigurationBuilder()
    builder.setStatusLevel(Level.OFF)
    builder.setShutdownHook("disable")
    builder.add(
      builder.newAppender("file", "RollingFile")
        .addAttribute("fileName", file.toString)
        .addAttribute("filePattern", s"$file.old")
        .addAttribute("ignoreExceptions", true)
        .add(builder.newLayout("PatternLayout").addAttribute("pattern", "%d{ISO8601}{UTC} %p %c{1}: %m%n%ex{20}"))
        .addComponent(builder.newComponent("Policies")
          .addComponent(builder.newComponent("SizeBasedTriggeringPolicy").addAttribute("size", sizeLimit)))
        .addComponent(builder.newComponent("DefaultRolloverStrategy").addAttribute("max", 1)))
    builder.add(builder.newRootLogger(Level.WARN).add(builder.newAppenderRef("file")))
    Configurator.initialize(builder.build())
  }
}
