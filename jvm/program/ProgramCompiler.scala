package headgate.program

import java.io.PrintWriter
import java.lang.reflect.{InvocationTargetException, Modifier}
import java.net.URLClassLoader
import java.nio.file.Path
import java.util.jar.JarFile

import scala.jdk.CollectionConverters._
import scala.reflect.internal.util.{BatchSourceFile, SourceFile}
import scala.tools.nsc.reporters.ConsoleReporter
import scala.tools.nsc.{Global, Settings}

/** Compiles a program of definitions to a jar, which remote executors also get, and runs its main method. */
final class ProgramCompiler(name: String, text: String) {
  val settings = new Settings(message => ScalaProgram.fail(message))
  ProgramEnvironment.applyTo(settings)
  val reporter = new ConsoleReporter(settings, Console.in, new PrintWriter(System.err, true))
  val global = new Global(settings, reporter)
  val source: SourceFile = new BatchSourceFile(name, text)

  def run(wanted: Option[String], arguments: Array[String]): Unit = {
    val jar = ProgramEnvironment.makeFolder().resolve("program.jar")
    settings.outputDirs.setSingleOutput(jar.toString)
    new global.Run().compileSources(List(source))
    reporter.finish()
    if (reporter.hasErrors) sys.exit(1)
    ProgramEnvironment.addForExecutors(jar)
    val loader = new URLClassLoader(Array(jar.toUri.toURL), Thread.currentThread.getContextClassLoader)
    Thread.currentThread.setContextClassLoader(loader)
    val mainClass = chooseMain(classNames(jar).map(Class.forName(_, false, loader)).filter(hasMain), wanted)
    // Rethrows what the program throws, as if Spark had called it directly.
    try mainClass.getMethod("main", classOf[Array[String]]).invoke(null, arguments)
    catch { case failure: InvocationTargetException => throw failure.getCause }
  }

  private def chooseMain(mains: Seq[Class[_]], wanted: Option[String]): Class[_] = {
    val named = wanted.fold(mains)(name => mains.filter(_.getName == name))
    named match {
      case Seq(one) => one
      case Seq() => ScalaProgram.fail(s"nothing to run: there is no main method${wanted.fold("")(" in " + _)}")
      case several =>
        ScalaProgram.fail(s"several main methods, name one by --class in arguments: ${several.map(_.getName).sorted.mkString(", ")}")
    }
  }

  private def hasMain(found: Class[_]): Boolean =
    found.getMethods.exists { method =>
      method.getName == "main" && Modifier.isStatic(method.getModifiers) &&
        method.getParameterTypes.sameElements(Array(classOf[Array[String]]))
    }

  private def classNames(jar: Path): Seq[String] = {
    val file = new JarFile(jar.toFile)
    try {
      val classes = file.entries.asScala.map(_.getName).filter(entry => entry.endsWith(".class") && !entry.contains("$"))
      classes.map(_.stripSuffix(".class").replace('/', '.')).toList
    } finally file.close()
  }
}
