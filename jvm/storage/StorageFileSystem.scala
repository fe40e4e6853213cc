package headgate.storage

import java.io.IOException
import java.net.URI
import java.util.EnumSet
import java.util.concurrent.CompletableFuture

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.Options.{ChecksumOpt, Rename}
import org.apache.hadoop.fs.impl.OpenFileParameters
import org.apache.hadoop.fs.permission.{FsAction, FsPermission}
import org.apache.hadoop.util.Progressable

/**
 * The account's storage under the name `storage:/`, whatever its location is: `storage:/a/b` is `<location>/a/b` in the
 * file system of the location. Qualified paths and listings have the long addresses, so that Spark keeps those: a task
 * that reads needs neither this class nor its setting.
 */
final class StorageFileSystem extends FilterFileSystem {
  import StorageFileSystem._

  private var root: Path = _

  override def initialize(name: URI, conf: Configuration): Unit = {
    if (name.getAuthority != null) throw new IOException(refusal(name, NamesHost))
    val location = conf.get(LocationProperty)
    if (location == null) throw new IOException(s"storage:/ is not available here: $LocationProperty is not set")
    root = new Path(location)
    fs = root.getFileSystem(conf)
    super.initialize(name, conf)
  }

  override def getScheme: String = Scheme
  override def getUri: URI = Uri
  override def getWorkingDirectory: Path = Top
  override def getHomeDirectory: Path = Top
  override protected def getInitialWorkingDirectory: Path = Top
  override def setWorkingDirectory(directory: Path): Unit = ()

  /** Leaves the file system of the location open: others use it, because Hadoop shares it. */
  override def close(): Unit = processDeleteOnExit()

  /** The path at its long address. Paths of listings already are. */
  private def at(path: Path): Path = {
    val uri = path.toUri
    if (uri.getScheme != null && uri.getScheme != Scheme) path
    else {
      if (uri.getAuthority != null) throw new IllegalArgumentException(refusal(path, NamesHost))
      if (uri.getPath.split('/').contains("..")) throw new IllegalArgumentException(refusal(path, NamesParent))
      val below = uri.getPath.stripPrefix("/")
      if (below.isEmpty) root
      else new Path(root.toUri.getScheme, root.toUri.getAuthority, s"${root.toUri.getPath.stripSuffix("/")}/$below")
    }
  }

  override protected def checkPath(path: Path): Unit = super.checkPath(at(path))
  override def makeQualified(path: Path): Path = fs.makeQualified(at(path))
  override def resolvePath(path: Path): Path = super.resolvePath(at(path))

  override def open(path: Path, bufferSize: Int): FSDataInputStream = super.open(at(path), bufferSize)

  override def openFile(path: Path): FutureDataInputStreamBuilder = super.openFile(at(path))

  override protected def openFileWithOptions(
      path: Path,
      parameters: OpenFileParameters): CompletableFuture[FSDataInputStream] =
    super.openFileWithOptions(at(path), parameters)

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream =
    super.create(at(path), permission, overwrite, bufferSize, replication, blockSize, progress)

  override def create(
      path: Path,
      permission: FsPermission,
      flags: EnumSet[CreateFlag],
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable,
      checksum: ChecksumOpt): FSDataOutputStream =
    super.create(at(path), permission, flags, bufferSize, replication, blockSize, progress, checksum)

  override def createNonRecursive(
      path: Path,
      permission: FsPermission,
      flags: EnumSet[CreateFlag],
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream =
    super.createNonRecursive(at(path), permission, flags, bufferSize, replication, blockSize, progress)

  override protected def primitiveCreate(
      path: Path,
      permission: FsPermission,
      flags: EnumSet[CreateFlag],
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable,
      checksum: ChecksumOpt): FSDataOutputStream =
    super.primitiveCreate(at(path), permission, flags, bufferSize, replication, blockSize, progress, checksum)

  override def createFile(path: Path): FSDataOutputStreamBuilder[_, _] =
    super.createFile(at(path)).asInstanceOf[FSDataOutputStreamBuilder[_, _]]
  override def appendFile(path: Path): FSDataOutputStreamBuilder[_, _] =
    super.appendFile(at(path)).asInstanceOf[FSDataOutputStreamBuilder[_, _]]
  override def append(path: Path, bufferSize: Int, progress: Progressable): FSDataOutputStream =
    super.append(at(path), bufferSize, progress)
  override def concat(path: Path, sources: Array[Path]): Unit = super.concat(at(path), sources.map(at))
  override def truncate(path: Path, length: Long): Boolean = super.truncate(at(path), length)

  override def rename(from: Path, to: Path): Boolean = super.rename(at(from), at(to))
  override protected def rename(from: Path, to: Path, options: Rename*): Unit =
    super.rename(at(from), at(to), options: _*)
  override def delete(path: Path, recursive: Boolean): Boolean = super.delete(at(path), recursive)

  override def mkdirs(path: Path): Boolean = super.mkdirs(at(path))
  override def mkdirs(path: Path, permission: FsPermission): Boolean = super.mkdirs(at(path), permission)
  override protected def primitiveMkdir(path: Path, permission: FsPermission): Boolean =
    super.primitiveMkdir(at(path), permission)

  override def listStatus(path: Path): Array[FileStatus] = super.listStatus(at(path))
  override def listStatusIterator(path: Path): RemoteIterator[FileStatus] = super.listStatusIterator(at(path))
  override def listLocatedStatus(path: Path): RemoteIterator[LocatedFileStatus] = super.listLocatedStatus(at(path))
  override protected def listLocatedStatus(path: Path, filter: PathFilter): RemoteIterator[LocatedFileStatus] =
    super.listLocatedStatus(at(path), filter)
  /** Hadoop builds the paths of matches from that of the pattern. */
  override def globStatus(pattern: Path): Array[FileStatus] = atLong(super.globStatus(pattern))
  override def globStatus(pattern: Path, filter: PathFilter): Array[FileStatus] =
    atLong(super.globStatus(pattern, filter))

  /** Null: nothing is there. */
  private def atLong(found: Array[FileStatus]): Array[FileStatus] = {
    if (found != null) found.foreach(status => status.setPath(at(status.getPath)))
    found
  }

  override def getFileStatus(path: Path): FileStatus = super.getFileStatus(at(path))
  override def getFileLinkStatus(path: Path): FileStatus = super.getFileLinkStatus(at(path))
  override def getContentSummary(path: Path): ContentSummary = fs.getContentSummary(at(path))
  override def getFileChecksum(path: Path): FileChecksum = super.getFileChecksum(at(path))
  override def getFileChecksum(path: Path, length: Long): FileChecksum = super.getFileChecksum(at(path), length)
  override def getStatus(path: Path): FsStatus = super.getStatus(at(path))
  override def getUsed(path: Path): Long = super.getUsed(at(path))
  override def getDefaultBlockSize(path: Path): Long = super.getDefaultBlockSize(at(path))
  override def getDefaultReplication(path: Path): Short = super.getDefaultReplication(at(path))
  override def getServerDefaults(path: Path): FsServerDefaults = super.getServerDefaults(at(path))
  override def getTrashRoot(path: Path): Path = super.getTrashRoot(at(path))
  override def hasPathCapability(path: Path, capability: String): Boolean =
    super.hasPathCapability(at(path), capability)

  override def access(path: Path, mode: FsAction): Unit = super.access(at(path), mode)
  override def setPermission(path: Path, permission: FsPermission): Unit = super.setPermission(at(path), permission)
  override def setOwner(path: Path, owner: String, group: String): Unit = super.setOwner(at(path), owner, group)
  override def setTimes(path: Path, modified: Long, accessed: Long): Unit = super.setTimes(at(path), modified, accessed)
  override def setReplication(path: Path, replication: Short): Boolean = super.setReplication(at(path), replication)

  override def copyFromLocalFile(deletes: Boolean, local: Path, path: Path): Unit =
    super.copyFromLocalFile(deletes, local, at(path))
  override def copyFromLocalFile(deletes: Boolean, overwrites: Boolean, local: Path, path: Path): Unit =
    super.copyFromLocalFile(deletes, overwrites, local, at(path))
  override def copyFromLocalFile(deletes: Boolean, overwrites: Boolean, local: Array[Path], path: Path): Unit =
    super.copyFromLocalFile(deletes, overwrites, local, at(path))
  override def copyToLocalFile(deletes: Boolean, path: Path, local: Path): Unit =
    super.copyToLocalFile(deletes, at(path), local)
}

object StorageFileSystem {
  val Scheme = "storage"
  private val LocationProperty = "fs.storage.location"
  private val Uri = URI.create("storage:///")
  private val Top = new Path("storage:/")
  private val NamesHost = "it names a host: write storage:/ and then the path"
  private val NamesParent = "it must not contain '..'"
  private def refusal(path: Any, rule: String): String = s"$path is not in the account's storage: $rule"
}

/** For Hadoop's second interface, which structured streaming uses for its checkpoints. */
final class StorageContext(uri: URI, conf: Configuration)
    extends DelegateToFileSystem(uri, new StorageFileSystem, conf, StorageFileSystem.Scheme, false)
