import { randomBytes } from "node:crypto";
import { constants, type Dirent, type Stats } from "node:fs";
import { lstat, open, readdir, rename, unlink, type FileHandle } from "node:fs/promises";
import { resolve } from "node:path";
import { addAbortSignal, Readable } from "node:stream";
import type {
  CallOptions,
  FolderEntry,
  FolderOptions,
  GetOptions,
  ListOptions,
  ObjectBody,
  ObjectEntry,
  ObjectStat,
  ObjectStore,
  PutOptions,
  StoredObject,
} from "../object-store.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import { formatObjectUri, parseObjectUri, type ObjectUri } from "../object-uri.ts";
import { translatedBody } from "../object-body.ts";
import { fileFailure } from "./file-failure.ts";
import { Folder } from "./folder.ts";
import { listFiles, unfinishedName } from "./list-files.ts";

/** A file below the root: its folders and its name. */
interface FilePath {
  folders: readonly string[];
  name: string;
  subject: string;
}

const COPY_PIECE_BYTES = 1024 * 1024;
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Files below a root folder. Nothing outside can be reached: no `..`, no other root, no symbolic link at any level. */
export function fileStore({ rootDir }: { rootDir: string }): ObjectStore {
  const root = resolve(rootDir);
  return {
    get: async (uri, options = {}) => get(root, pathOf(root, uri), options),
    put: async (uri, body, options = {}) => put(root, pathOf(root, uri), body, options),
    list: (uri, options = {}) => list(root, belowRoot(root, parseObjectUri(uri)), options),
    folder: (uri, options = {}) => readFolder(root, parseObjectUri(uri), options),
    delete: async (uri, options = {}) => remove(root, pathOf(root, uri), options),
    stat: async (uri, options = {}) => stat(root, pathOf(root, uri), options),
    close: () => Promise.resolve(),
  };
}

async function get(root: string, file: FilePath, { range, signal }: GetOptions): Promise<StoredObject> {
  signal?.throwIfAborted();
  const handle = await inFolder(root, file, (folder) => open(folder.entry(file.name), readFlags));
  try {
    const found = statOf(await handle.stat(), file);
    const start = range?.offset ?? 0;
    if (range !== undefined && start >= found.size) {
      throw new ObjectStoreError("bad-range", `${file.subject}: the range starts after the end of the object`);
    }
    const end = range?.length === undefined ? Infinity : start + range.length - 1;
    const source = handle.createReadStream({ start, end, ...(signal === undefined ? {} : { signal }) });
    const translate = (error: unknown): unknown =>
      signal?.aborted === true ? signal.reason : fileFailure(file.subject, error);
    return { ...found, body: translatedBody(source, translate) };
  } catch (error) {
    await handle.close();
    throw fileFailure(file.subject, error);
  }
}

/** Writes and syncs a temporary file in the same folder, which listings omit, then renames it. */
async function put(root: string, file: FilePath, body: ObjectBody, { signal }: PutOptions): Promise<void> {
  signal?.throwIfAborted();
  const folder = await openFolders(root, file, "make");
  try {
    const unfinished = folder.entry(`.put-${randomBytes(8).toString("hex")}`);
    try {
      await writeFile(folder, unfinished, file, body, signal);
      signal?.throwIfAborted();
      await rename(unfinished, folder.entry(file.name)).catch(rethrow(file));
      await folder.sync().catch(rethrow(file));
    } catch (error) {
      await unlink(unfinished).catch(() => undefined);
      throw error;
    }
  } finally {
    await folder.close();
  }
}

async function writeFile(
  folder: Folder,
  path: string,
  file: FilePath,
  body: ObjectBody,
  signal: AbortSignal | undefined,
): Promise<void> {
  const handle = await open(path, createFlags, 0o640).catch(rethrow(file));
  try {
    await folder.handOver(handle).catch(rethrow(file));
    if (Buffer.isBuffer(body)) await handle.writeFile(body).catch(rethrow(file));
    else if (!(body instanceof Readable)) await copyFile(body, handle, signal).catch(rethrow(file));
    else await writeStream(handle, file, body, signal);
    await handle.datasync().catch(rethrow(file));
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
async function writeStream(
  handle: FileHandle,
  file: FilePath,
  body: Readable,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal !== undefined) addAbortSignal(signal, body);
  try {
    for await (const chunk of body as AsyncIterable<Buffer | string>) {
      await handle.writeFile(chunk).catch(rethrow(file)); // appends
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

async function* list(root: string, prefix: string, options: ListOptions): AsyncGenerator<ObjectEntry> {
  const subject = uriOf(`${root}/${prefix}`);
  const after = options.after === undefined ? undefined : belowRoot(root, { scheme: "file", key: options.after });
  let left = options.maxKeys ?? Infinity;
  if (left <= 0) return;
  const folder = await Folder.openRoot(root).catch(rethrow({ subject }));
  try {
    for await (const { name, ...found } of listFiles(folder, "", prefix, after)) {
      options.signal?.throwIfAborted();
      const key = `${root}/${name}`;
      yield { ...found, key, uri: uriOf(key) };
      left -= 1;
      if (left <= 0) return;
    }
  } catch (error) {
    throw fileFailure(subject, error);
  } finally {
    await folder.close();
  }
}

/** Reads times only if requested, because that takes ten times as long as reading the names. */
async function* readFolder(
  root: string,
  uri: ObjectUri,
  { signal, withTimes = false }: FolderOptions,
): AsyncGenerator<FolderEntry> {
  signal?.throwIfAborted();
  const path = belowRoot(root, { ...uri, key: `${uri.key}/` }).replace(/\/$/, "");
  const file = { folders: path === "" ? [] : path.split("/"), subject: formatObjectUri(uri) };
  const base = path === "" ? root : `${root}/${path}`;
  const folder = await openFolders(root, file, "enter").catch(undefinedIfMissing);
  if (folder === undefined) return;
  try {
    for (const entry of await readdir(folder.path, { withFileTypes: true }).catch(rethrow(file))) {
      const kind = kindOf(entry);
      if (kind === undefined || (kind === "file" && unfinishedName.test(entry.name))) continue;
      const modifiedAt = withTimes ? await modificationOf(folder.entry(entry.name)).catch(rethrow(file)) : null;
      yield { kind, name: entry.name, uri: uriOf(`${base}/${entry.name}`), modifiedAt };
    }
  } finally {
    await folder.close();
  }
}

function kindOf(entry: Dirent): FolderEntry["kind"] | undefined {
  if (entry.isDirectory()) return "folder";
  if (entry.isSymbolicLink()) return "link";
  return entry.isFile() ? "file" : undefined;
}

function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof ObjectStoreError && error.kind === "missing")) throw error;
}

/** Null if the file is gone. */
async function modificationOf(path: string): Promise<Date | null> {
  return lstat(path).then(
    ({ mtime }) => mtime,
    (error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
      throw error;
    },
  );
}

async function remove(root: string, file: FilePath, { signal }: CallOptions): Promise<void> {
  signal?.throwIfAborted();
  try {
    await inFolder(root, file, (folder) => unlink(folder.entry(file.name)));
  } catch (error) {
    if (!(error instanceof ObjectStoreError && error.kind === "missing")) throw error;
  }
}

async function stat(root: string, file: FilePath, { signal }: CallOptions): Promise<ObjectStat> {
  signal?.throwIfAborted();
  return inFolder(root, file, async (folder) => statOf(await lstat(folder.entry(file.name)), file));
}

function statOf(stats: Stats, { subject }: Pick<FilePath, "subject">): ObjectStat {
  if (stats.isSymbolicLink()) throw new ObjectStoreError("denied", `${subject}: symbolic links are not followed`);
  if (stats.isDirectory()) throw new ObjectStoreError("missing", `${subject}: a folder, not a file`);
  if (!stats.isFile()) throw new ObjectStoreError("denied", `${subject}: not a regular file`);
  return { size: stats.size, modifiedAt: stats.mtime, etag: null };
}

async function inFolder<T>(root: string, file: FilePath, work: (folder: Folder) => Promise<T>): Promise<T> {
  const folder = await openFolders(root, file, "enter");
  try {
    return await work(folder).catch(rethrow(file));
  } finally {
    await folder.close();
  }
}

async function openFolders(root: string, file: Omit<FilePath, "name">, mode: "enter" | "make"): Promise<Folder> {
  let folder = await Folder.openRoot(root).catch(rethrow(file));
  for (const name of file.folders) {
    const outer = folder;
    try {
      folder = await (mode === "make" ? outer.enterOrMake(name) : outer.enter(name));
    } catch (error) {
      throw fileFailure(file.subject, error);
    } finally {
      await outer.close();
    }
  }
  return folder;
}

function pathOf(root: string, text: string): FilePath {
  const uri = parseObjectUri(text);
  const folders = belowRoot(root, uri).split("/");
  const name = folders.pop() ?? "";
  if (name === "" || name === "." || name === "..") throw badUri("must name a file, not a folder");
  if (unfinishedName.test(name)) throw badUri("must not have a name that is reserved for temporary files");
  return { folders, name, subject: formatObjectUri(uri) };
}

/** The path below the root, empty for the root itself. Double slashes are collapsed, as the system does. */
function belowRoot(root: string, { scheme, key }: Pick<ObjectUri, "scheme" | "key">): string {
  if (scheme !== "file") throw badUri("must begin with file:/");
  const path = key.replaceAll(/\/{2,}/g, "/");
  if (path === root) return "";
  const base = root === "/" ? "/" : `${root}/`;
  if (!path.startsWith(base)) throw badUri(`must lie below ${uriOf(root)}`);
  const below = path.slice(base.length);
  // The last name of a prefix is incomplete, so it is not checked.
  if (
    below
      .split("/")
      .slice(0, -1)
      .some((name) => name === "." || name === "..")
  ) {
    throw badUri("must not have . or .. in its path");
  }
  return below;
}

function uriOf(key: string): string {
  return formatObjectUri({ scheme: "file", bucket: "", key });
}

function badUri(rule: string): ObjectStoreError {
  return new ObjectStoreError("bad-uri", `the URI ${rule}`);
}

function rethrow({ subject }: Pick<FilePath, "subject">): (error: unknown) => never {
  return (error) => {
    throw fileFailure(subject, error);
  };
}
