package headgate.setup

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.zip.{ZipEntry, ZipInputStream, ZipOutputStream}

/** Adds the file that names a service's provider to a jar. The arguments are the jar, the service and the provider. */
object AddService {
  def main(arguments: Array[String]): Unit = {
    val Array(jar, service, provider) = arguments
    val from = new ZipInputStream(new ByteArrayInputStream(Files.readAllBytes(Path.of(jar))))
    val bytes = new ByteArrayOutputStream
    val to = new ZipOutputStream(bytes)
    def add(name: String)(write: => Unit): Unit = {
      to.putNextEntry(new ZipEntry(name))
      write
      to.closeEntry()
    }
    Iterator.continually(from.getNextEntry).takeWhile(_ != null).foreach { entry =>
      add(entry.getName) {
        from.transferTo(to)
        ()
      }
    }
    add(s"META-INF/services/$service")(to.write(s"$provider\n".getBytes(UTF_8)))
    to.close()
    Files.write(Path.of(jar), bytes.toByteArray)
    ()
  }
}
