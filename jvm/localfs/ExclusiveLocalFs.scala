package headgate.localfs

import java.io.{FileNotFoundException, IOException}
import java.net.URI
import java.nio.file.{FileAlreadyExistsException => Taken, FileSystemException, Files, NoSuchFileException, Paths}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFs, DelegateToFileSystem, FileAlreadyExistsException, FsServerDefaults, Path}
import org.apache.hadoop.fs.RawLocalFileSystem
import org.apache.hadoop.fs.local.LocalConfigKeys

/**
 * Hadoop's local files, except that a rename never replaces a file that another process has just created: Hadoop looks
 * whether there is one, and then renames. Delta Lake commits by such a rename, so of two writers one would lose its
 * commit without an error. Executors load it with another class loader than Hadoop, so it uses only what Hadoop makes
 * public.
 */
final class ExclusiveLocalFs(address: URI, conf: Configuration) extends ChecksumFs(new ExclusiveRawFs(address, conf))

/** The same as Hadoop's RawLocalFs, whose constructor is not public, but for the rename. */
private final class ExclusiveRawFs(address: URI, conf: Configuration)
    extends DelegateToFileSystem(address, new RawLocalFileSystem, conf, "file", false) {
  override def getUriDefaultPort: Int = -1
  override def getServerDefaults(path: Path): FsServerDefaults = LocalConfigKeys.getServerDefaults
  override def isValidName(name: String): Boolean = true

  override def renameInternal(from: Path, to: Path, overwrite: Boolean): Unit = {
    val (source, target) = (Paths.get(from.toUri.getPath), Paths.get(to.toUri.getPath))
    if (overwrite || !Files.isRegularFile(source)) super.renameInternal(from, to, overwrite)
    else
      try {
        Files.createLink(target, source)
        Files.delete(source)
      } catch {
        case _: Taken => throw new FileAlreadyExistsException(s"rename destination $to already exists")
        case missing: NoSuchFileException => throw new FileNotFoundException(missing.getMessage)
        case other: FileSystemException =>
          val need = "a rename that replaces no file, such as a commit of Delta Lake, needs a hard link"
          throw new IOException(s"$to cannot be made: $need (${other.getReason})", other)
      }
  }
}
