package headgate.program

import java.io.PrintWriter

import scala.tools.nsc.Settings
import scala.tools.nsc.interpreter.shell.{ReplReporterImpl, ShellConfig}
import scala.tools.nsc.interpreter.{IMain, Results}

import org.apache.spark.sql.SparkSession

/** What statements find bound; a serialised closure must not take it along. */
object Bindings {
  @volatile var spark: SparkSession = _
  @volatile var arguments: Array[String] = Array.empty
}

/**
 * Runs statements in the compiler's interpreter, each on its own: all of them as one would start Spark's threads from
 * within a class initialiser, where they wait for it for ever. The first one that fails ends the program.
 */
object StatementRunner {
  private val preparation = Seq(
    """@transient val spark = headgate.program.Bindings.spark
      |@transient val sc = spark.sparkContext
      |val args = headgate.program.Bindings.arguments""".stripMargin,
    """import org.apache.spark.SparkContext._
      |import spark.implicits._
      |import spark.sql
      |import org.apache.spark.sql.functions._""".stripMargin)

  def run(statements: Seq[Statement], arguments: Array[String]): Unit = {
    val classes = ProgramEnvironment.makeFolder()
    // From here executors load what the interpreter compiles.
    System.setProperty("spark.repl.class.outputDir", classes.toString)
    val interpreter = makeInterpreter(classes.toString)
    Thread.currentThread.setContextClassLoader(interpreter.classLoader)
    Bindings.spark = SparkSession.builder().getOrCreate()
    Bindings.arguments = arguments
    interpreter.reporter.withoutPrintingResults {
      preparation.foreach(text => if (interpreter.interpret(text) != Results.Success) ScalaProgram.fail("spark cannot be bound"))
      for (Statement(text, line) <- statements) {
        if (interpreter.interpret("\n" * (line - 1) + text) != Results.Success) ScalaProgram.fail(s"ended by the statement in line $line")
      }
    }
    Bindings.spark.stop()
  }

  private def makeInterpreter(classes: String): IMain = {
    val settings = new Settings(message => ScalaProgram.fail(message))
    settings.processArguments(List("-Yrepl-class-based", "-Yrepl-outdir", classes), processAll = true)
    ProgramEnvironment.applyTo(settings)
    val reporter = new ReplReporterImpl(ShellConfig(settings), settings, new PrintWriter(System.err, true))
    val interpreter = new IMain(settings, Option(Thread.currentThread.getContextClassLoader), settings, reporter)
    interpreter.initializeCompiler()
    interpreter
  }
}
