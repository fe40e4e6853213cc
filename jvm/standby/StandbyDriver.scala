package headgate.standby

import java.io.{BufferedInputStream, FileDescriptor, FileInputStream, FileOutputStream}
import java.nio.charset.StandardCharsets
import java.nio.file.Path

import org.apache.spark.deploy.SparkSubmit

import headgate.driver.Driver

/**
 * A driver that waits for its work. It runs what most programs run first, in a session that it throws away, writes a line
 * `READY` to its standard output and waits. On standard input come the number of words of a submission and the words,
 * each ended by a NUL, and then the end; from there on it is a driver that was started with these words. Any other input
 * means that there is nothing to do any more: whoever had work for it has gone.
 *
 * The argument is a properties file with the settings that outlive a session inside of a JVM.
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

  /** Past any buffer: what is written later belongs to the program. */
  private def sayReady(): Unit =
    new FileOutputStream(FileDescriptor.out).write("READY\n".getBytes(StandardCharsets.US_ASCII))

  private def readWords(): Array[String] = {
    // A bare file stream asks for its position to read all, which a pipe does not have.
    val input = new BufferedInputStream(new FileInputStream(FileDescriptor.in))
    val text = new String(input.readAllBytes(), StandardCharsets.UTF_8)
    val words = text.split("\u0000", -1)
    // What follows the last NUL is empty, unless it was cut off.
    if (words.length >= 2 && words.last.isEmpty && words.head == (words.length - 2).toString) words.slice(1, words.length - 1)
    else Array.empty
  }
}
