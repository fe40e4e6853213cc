package headgate.program

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path}

/**
 * The main class of a driver that runs Scala source. The compiler in Spark's jars compiles it in the driver's own JVM.
 * Arguments: the source file, the class to run or `-`, then the program's own arguments.
 *
 * | The text has                    | It is                                                                    |
 * |---------------------------------|--------------------------------------------------------------------------|
 * | only definitions, as in a file  | compiled to a jar, and its `main` runs                                   |
 * | anything else that parses       | run statement by statement, with `spark`, `sc` and `args` defined        |
 * | syntax errors                   | rejected with the parser's errors, exit code 1                           |
 */
object ScalaProgram {
  def main(arguments: Array[String]): Unit = {
    val file = Path.of(arguments(0))
    val mainClass = Some(arguments(1)).filter(_ != "-")
    val programArguments = arguments.drop(2)
    val text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8)
    val compiler = new ProgramCompiler(file.getFileName.toString, text)
    new ProgramReader(compiler.global).read(compiler.source) match {
      case Definitions => compiler.run(mainClass, programArguments)
      case Statements(_) if mainClass.isDefined => fail("--class cannot be used: the program has statements outside of classes")
      case Statements(statements) => StatementRunner.run(statements, programArguments)
      case Broken(errors) =>
        errors.foreach { case (position, message) => compiler.reporter.error(position, message) }
        compiler.reporter.finish()
        sys.exit(1)
    }
  }

  def fail(message: String): Nothing = {
    System.err.println(s"headgate: $message")
    sys.exit(1)
  }
}
