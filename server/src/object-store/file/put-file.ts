/**
 * Writes a file under a temporary name, syncs it, and then gives it its name. The folders of the file are opened when it
 * is complete, so a program that replaces one of them meanwhile by a link changes nothing outside of the root.
 */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, open, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { addAbortSignal, Readable } from "node:stream";
import { KeyedSemaphore } from "../../lib/limit-concurrency.ts";
import type { ObjectBody, PutOptions, StoredPut } from "../object-store.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import { Folder } from "./folder.ts";
import { openFolders, rethrow, type FilePath } from "./open-folder-chain.ts";
import { fileStat, statOf } from "./stat-of.ts";
import { writeStream } from "./write-stream.ts";

interface PutFolders {
  readonly root: string;
  readonly stagingDir: string | undefined;
}

const COPY_PIECE_BYTES = 1024 * 1024;
const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Keyed by root and path: between the check of a condition and the new name, no other call gives that name. */
const naming = new KeyedSemaphore<string>(() => 1);

export async function putFile(
  { root, stagingDir }: PutFolders,
  file: FilePath,
  body: ObjectBody,
  options: PutOptions,
): Promise<StoredPut> {
  const { signal, ifMatch } = options;
  signal?.throwIfAborted();
  await checkTarget(root, file, ifMatch);
  const rootFolder = await Folder.openRoot(root).catch(rethrow(file));
  let temporary: string | undefined;
  let staging: Folder | undefined;
  try {
    staging = await openStaging(root, stagingDir, file);
    temporary = staging.entry(`.put-${randomBytes(8).toString("hex")}`);
    const written = await writeFile(rootFolder, temporary, file, body, options);
    signal?.throwIfAborted();
    await nameFile(root, file, temporary, ifMatch);
    temporary = undefined;
    return written;
  } finally {
    if (temporary !== undefined) await unlink(temporary).catch(() => undefined);
    await staging?.close();
    await rootFolder.close();
  }
}

/** Before the body is received: what can be known of a failure already. */
async function checkTarget(root: string, file: FilePath, ifMatch: string | undefined): Promise<void> {
  let folder: Folder;
  try {
    folder = await openFolders(root, file, "enter");
  } catch (error) {
    const isAbsent = error instanceof ObjectStoreError && error.code === "ENOENT";
    if (isAbsent && ifMatch === undefined) return;
    throw isAbsent ? changed(file) : error;
  }
  try {
    await checkReplaced(folder, file, ifMatch);
  } finally {
    await folder.close();
  }
}

/** A link is replaced itself, not its target. */
async function checkReplaced(folder: Folder, file: FilePath, ifMatch: string | undefined): Promise<void> {
  const stats = await lstat(folder.entry(file.name), { bigint: true }).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    return rethrow(file)(error);
  });
  if (stats?.isDirectory() === true) {
    throw new ObjectStoreError("bad-request", `${file.subject}: a folder, not a file`, { code: "EISDIR" });
  }
  if (ifMatch === undefined) return;
  if (stats?.isFile() !== true || (ifMatch !== "*" && statOf(stats, file).etag !== ifMatch)) throw changed(file);
}

function changed({ subject }: FilePath): ObjectStoreError {
  return new ObjectStoreError("changed", `${subject}: the file has changed, or does not exist`);
}

/** A folder on another disk than the file cannot be used, because a rename does not move contents. */
async function openStaging(root: string, stagingDir: string | undefined, file: FilePath): Promise<Folder> {
  if (stagingDir !== undefined) {
    await mkdir(stagingDir, { recursive: true, mode: 0o700 });
    const [here, there] = await Promise.all([stat(stagingDir), stat(root)]);
    if (here.dev === there.dev) return Folder.openRoot(stagingDir);
  }
  return openFolders(root, file, "make");
}

async function nameFile(root: string, file: FilePath, temporary: string, ifMatch: string | undefined): Promise<void> {
  await naming.run(join(root, ...file.folders, file.name), async () => {
    const folder = await openFolders(root, file, ifMatch === undefined ? "make" : "enter");
    try {
      if (ifMatch !== undefined) await checkReplaced(folder, file, ifMatch);
      await rename(temporary, folder.entry(file.name)).catch(rethrow(file));
      await folder.sync().catch(rethrow(file));
    } finally {
      await folder.close();
    }
  });
}

async function writeFile(
  rootFolder: Folder,
  path: string,
  file: FilePath,
  body: ObjectBody,
  options: PutOptions,
): Promise<StoredPut> {
  const handle = await open(path, createFlags, 0o640).catch(rethrow(file));
  try {
    await rootFolder.handOver(handle).catch(rethrow(file));
    if (Buffer.isBuffer(body)) await handle.writeFile(body).catch(rethrow(file));
    else if (!(body instanceof Readable)) await copyFile(body, handle, options.signal).catch(rethrow(file));
    else await streamTo(handle, file, body, options);
    await handle.datasync().catch(rethrow(file));
    return fileStat(await handle.stat({ bigint: true }));
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error;
  } finally {
    await handle.close();
  }
}

/** Reuses one buffer, because new ones would keep the garbage collector busy and delay requests. */
async function copyFile(from: FileHandle, to: FileHandle, signal: AbortSignal | undefined): Promise<void> {
  const piece = Buffer.allocUnsafeSlow(COPY_PIECE_BYTES);
  for (let at = 0; ;) {
    signal?.throwIfAborted();
    const { bytesRead } = await from.read(piece, 0, piece.length, at);
    if (bytesRead === 0) return;
    await to.writeFile(piece.subarray(0, bytesRead));
    at += bytesRead;
  }
}

/** Errors of the body are not translated. */
async function streamTo(
  handle: FileHandle,
  file: FilePath,
  body: Readable,
  { signal, ownsChunks = false }: PutOptions,
): Promise<void> {
  if (signal !== undefined) addAbortSignal(signal, body);
  try {
    await writeStream(handle, body, { ownsChunks, failed: rethrow(file) });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
