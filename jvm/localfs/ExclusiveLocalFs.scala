package org.apache.hadoop.fs.local

import java.net.URI
import java.nio.file.{FileAlreadyExistsException => Taken, Files, NoSuchFileException, Paths}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFs, FileAlreadyExistsException, Path}

/**
 * Hadoop's local files, except that a rename never replaces a file that another process has just created: Hadoop looks
 * whether there is one, and then renames. Delta Lake commits by such a rename, so of two writers one would lose its
 * commit without an error. It is in Hadoop's package because of the constructors there.
 */
final class ExclusiveLocalFs(address: URI, conf: Configuration) extends ChecksumFs(new ExclusiveRawFs(address, conf))

private final class ExclusiveRawFs(address: URI, conf: Configuration) extends RawLocalFs(address, conf) {
  override def renameInternal(from: Path, to: Path, overwrite: Boolean): Unit = {
    val (source, target) = (Paths.get(from.toUri.getPath), Paths.get(to.toUri.getPath))
    if (overwrite || !Files.isRegularFile(source)) super.renameInternal(from, to, overwrite)
    else
      try {
        Files.createLink(target, source)
        Files.delete(source)
      } catch {
        case _: UnsupportedOperationException => super.renameInternal(from, to, overwrite) // no hard links there
        case _: Taken => throw new FileAlreadyExistsException(s"rename destination $to already exists")
        case missing: NoSuchFileException => throw new java.io.FileNotFoundException(missing.getMessage)
      }
  }
}
