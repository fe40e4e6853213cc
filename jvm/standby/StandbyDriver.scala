package headgate.standby

import java.io.{BufferedInputStream, FileDescriptor, FileInputStream, FileOutputStream}
import java.nio.charset.StandardCharsets
import java.nio.file.Path

import org.apache.spark.deploy.SparkSubmit

import headgate.driver.Driver

/**
 * A driver that is started in advance. It warms up in a session that it discards, writes a line `READY` to its standard
 * output and waits. Standard input then contains the number of arguments of a submission and the arguments, each ended by
 * a NUL, and ends; from then on it behaves like a driver that was started with these arguments. On any other input it
 * ends, because the process that started it is gone.
 *
 * The argument is a properties file with the settings that outlive a session in a JVM.
 */
object StandbyDriver {
  def main(arguments: Array[String]): Unit = {
    val properties = Path.of(arguments(0))
    Driver.prepare(properties)
    WarmUp.run(properties)
    sayReady()
    val words = readWords()
    if (words.nonEmpty) SparkSubmit.main(words)
  }

  /** Unbuffered, because all later output belongs to the program. */
  private def sayReady(): Unit =
    new FileOutputStream(FileDescriptor.out).write("READY\n".getBytes(StandardCharsets.US_ASCII))

  private def readWords(): Array[String] = {
    // An unbuffered file stream would query its position, which a pipe does not have.
    val input = new BufferedInputStream(new FileInputStream(FileDescriptor.in))
    val text = new String(input.readAllBytes(), StandardCharsets.UTF_8)
    val words = text.split("\u0000", -1)
    // The text after the last NUL is empty unless the input was truncated.
    if (words.length >= 2 && words.last.isEmpty && words.head == (words.length - 2).toString) words.slice(1, words.length - 1)
    else Array.empty
  }
}
