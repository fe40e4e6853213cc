package headgate.driver

import java.io.{File, IOException}
import java.nio.charset.StandardCharsets
import java.nio.file.Files
import java.security.MessageDigest
import java.util.{Properties, UUID}
import java.util.concurrent.TimeUnit
import java.util.zip.{ZipEntry, ZipOutputStream}

import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.security.UserGroupInformation

/**
 * Spark's jars as one file in the cluster's file system, uploaded once per Spark version and user. Each user has an archive
 * of their own, because a user who can write it can run code in every application that uses it.
 */
object SparkArchive {
  val property = "spark.yarn.archive"
  private val unfinishedPrefix = "unfinished-"

  def isSettled(properties: Properties): Boolean =
    Seq(property, "spark.yarn.jars").exists(properties.getProperty(_) != null)

  /** Returns the archive's address. Concurrent calls each upload the archive, and one of the copies is kept. */
  def provide(fileSystem: FileSystem, base: Path): String = {
    val user = UserGroupInformation.getCurrentUser.getShortUserName
    val folder = new Path(base, s".headgate-$user")
    val jars = sparkJars()
    val archive = new Path(folder, s"spark-${digest(jars)}.zip")
    if (!fileSystem.exists(folder)) fileSystem.mkdirs(folder, new FsPermission("700"))
    val owner = fileSystem.getFileStatus(folder).getOwner
    if (owner != user) throw new SecurityException(s"$folder belongs to $owner instead of $user")
    removeAbandoned(fileSystem, folder)
    if (!fileSystem.exists(archive)) {
      val unfinished = new Path(folder, s"$unfinishedPrefix${UUID.randomUUID()}")
      send(jars, fileSystem, unfinished)
      if (!fileSystem.rename(unfinished, archive) && !fileSystem.exists(archive)) {
        throw new IOException(s"$unfinished could not be renamed to $archive")
      }
    }
    fileSystem.makeQualified(archive).toString
  }

  /** Removes uploads of JVMs that were killed. */
  private def removeAbandoned(fileSystem: FileSystem, folder: Path): Unit = {
    val before = System.currentTimeMillis() - TimeUnit.DAYS.toMillis(1)
    for (file <- fileSystem.listStatus(folder)) {
      val isAbandoned = file.getPath.getName.startsWith(unfinishedPrefix) && file.getModificationTime < before
      if (isAbandoned) fileSystem.delete(file.getPath, false)
    }
  }

  private def sparkJars(): Seq[File] = {
    val all = new File(sys.env("SPARK_HOME"), "jars").listFiles()
    all.filter(_.getName.endsWith(".jar")).sortBy(_.getName).toSeq
  }

  private def digest(jars: Seq[File]): String = {
    val text = jars.map(jar => s"${jar.getName} ${jar.length()}\n").mkString
    val hash = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8))
    hash.take(6).map(byte => f"$byte%02x").mkString
  }

  private def send(jars: Seq[File], fileSystem: FileSystem, to: Path): Unit = {
    val zip = new ZipOutputStream(fileSystem.create(to))
    fileSystem.deleteOnExit(to) // also if this JVM is stopped meanwhile
    try {
      zip.setLevel(0) // jars are already compressed
      for (jar <- jars) {
        zip.putNextEntry(new ZipEntry(jar.getName))
        Files.copy(jar.toPath, zip)
        zip.closeEntry()
      }
    } finally zip.close()
  }
}
