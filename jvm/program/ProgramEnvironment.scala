package headgate.program

import java.io.File
import java.net.URLClassLoader
import java.nio.file.{Files, Path}

import scala.tools.nsc.Settings

/** The environment that spark-submit prepares for a main class: system properties and a class loader with its jars. */
object ProgramEnvironment {
  /** Sets our class path with the jars of `--jars` and `--packages`. */
  def applyTo(settings: Settings): Unit = {
    settings.usejavacp.value = true
    settings.classpath.value = addedJars.mkString(File.pathSeparator)
  }

  private def addedJars: Seq[String] = Thread.currentThread.getContextClassLoader match {
    case loader: URLClassLoader => loader.getURLs.toSeq.filter(_.getProtocol == "file").map(url => Path.of(url.toURI).toString)
    case _ => Nil
  }

  def addForExecutors(jar: Path): Unit = {
    val before = sys.props.get("spark.jars").filter(_.nonEmpty)
    System.setProperty("spark.jars", (before.toSeq :+ jar.toUri.toString).mkString(","))
  }

  /** In Spark's scratch folder; removed when the driver ends. */
  def makeFolder(): Path = {
    val parent = Path.of(sys.props.getOrElse("spark.local.dir", sys.props("java.io.tmpdir")).split(",").head)
    Files.createDirectories(parent)
    val folder = Files.createTempDirectory(parent, "program-")
    sys.addShutdownHook(remove(folder.toFile))
    folder
  }

  private def remove(file: File): Unit = {
    Option(file.listFiles).foreach(_.foreach(remove))
    file.delete()
  }
}
