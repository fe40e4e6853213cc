package headgate.program

import java.io.PrintWriter

import scala.tools.nsc.Settings
import scala.tools.nsc.interpreter.shell.{ReplReporterImpl, ShellConfig}
import scala.tools.nsc.interpreter.{IMain, Results}

import org.apache.spark.sql.SparkSession

/** The values that statements can use. Not part of the statements, because closures must not serialise them. */
object Bindings {
  @volatile var spark: SparkSession = _
  @volatile var arguments: Array[String] = Array.empty
}

/**
 * Runs statements one by one in the compiler's interpreter. Together they would run in a class initialiser, and Spark's
 * threads would wait for its end forever. The first statement that fails ends the program.
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
    // Executors load the compiled classes from here.
    System.setProperty("spark.repl.class.outputDir", classes.toString)
    val interpreter = makeInterpreter(classes.toString)
    Thread.currentThread.setContextClassLoader(interpreter.classLoader)
    Bindings.spark = SparkSession.builder().getOrCreate()
    Bindings.arguments = arguments
    interpreter.reporter.withoutPrintingResults {
      preparation.foreach(text => if (interpreter.interpret(text) != Results.Success) ScalaProgram.fail("the variables spark, sc and args cannot be defined"))
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
