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
import { translatedBody } from "../translated-body.ts";
import { fileFailure } from "./file-failure.ts";
import { Folder } from "./folder.ts";
import { listFiles, unfinishedName } from "./list-files.ts";

/** A file below the root: the folders on the way, then its name. */
interface Place {
  folders: readonly string[];
  name: string;
  subject: string;
}

const COPY_PIECE_BYTES = 1024 * 1024;
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Files below one folder. Nothing leads out of it: no `..`, no other root, no symbolic link at any level. */
export function fileStore({ rootDir }: { rootDir: string }): ObjectStore {
  const root = resolve(rootDir);
  return {
    get: async (uri, options = {}) => get(root, placeOf(root, uri), options),
    put: async (uri, body, options = {}) => put(root, placeOf(root, uri), body, options),
    list: (uri, options = {}) => list(root, belowRoot(root, parseObjectUri(uri)), options),
    folder: (uri, options = {}) => readFolder(root, parseObjectUri(uri), options),
    delete: async (uri, options = {}) => remove(root, placeOf(root, uri), options),
    stat: async (uri, options = {}) => stat(root, placeOf(root, uri), options),
    close: () => Promise.resolve(),
  };
}

async function get(root: string, place: Place, { range, signal }: GetOptions): Promise<StoredObject> {
  signal?.throwIfAborted();
  const handle = await inFolder(root, place, (folder) => open(folder.entry(place.name), readFlags));
  try {
    const found = statOf(await handle.stat(), place);
    const start = range?.offset ?? 0;
    if (range !== undefined && start >= found.size) {
      throw new ObjectStoreError("bad-range", `${place.subject}: the range begins beyond the end`);
    }
    const end = range?.length === undefined ? Infinity : start + range.length - 1;
    const source = handle.createReadStream({ start, end, ...(signal === undefined ? {} : { signal }) });
    const translate = (error: unknown): unknown =>
      signal?.aborted === true ? signal.reason : fileFailure(place.subject, error);
    return { ...found, body: translatedBody(source, translate) };
  } catch (error) {
    await handle.close();
    throw fileFailure(place.subject, error);
  }
}

/** Written beside its place under a name nobody lists, made safe on disk, then put there in one step. */
async function put(root: string, place: Place, body: ObjectBody, { signal }: PutOptions): Promise<void> {
  signal?.throwIfAborted();
  const folder = await openFolders(root, place, "make");
  try {
    const unfinished = folder.entry(`.put-${randomBytes(8).toString("hex")}`);
    try {
      await writeFile(folder, unfinished, place, body, signal);
      signal?.throwIfAborted();
      await rename(unfinished, folder.entry(place.name)).catch(rethrow(place));
      await folder.sync().catch(rethrow(place));
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
  place: Place,
  body: ObjectBody,
  signal: AbortSignal | undefined,
): Promise<void> {
  const handle = await open(path, createFlags, 0o640).catch(rethrow(place));
  try {
    await folder.handOver(handle).catch(rethrow(place));
    if (Buffer.isBuffer(body)) await handle.writeFile(body).catch(rethrow(place));
    else if (!(body instanceof Readable)) await copyFile(body, handle, signal).catch(rethrow(place));
    else await writeStream(handle, place, body, signal);
    await handle.datasync().catch(rethrow(place));
  } finally {
    await handle.close();
  }
}

/** By one buffer: a new one for each piece would keep the garbage collector, and so everybody, busy. */
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

/** What the body fails with stays its own. */
async function writeStream(
  handle: FileHandle,
  place: Place,
  body: Readable,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal !== undefined) addAbortSignal(signal, body);
  try {
    for await (const chunk of body as AsyncIterable<Buffer | string>) {
      await handle.writeFile(chunk).catch(rethrow(place)); // goes on where the last one ended
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

/** Times only where they are wanted: to ask for each takes ten times as long as to read the names. */
async function* readFolder(
  root: string,
  uri: ObjectUri,
  { signal, withTimes = false }: FolderOptions,
): AsyncGenerator<FolderEntry> {
  signal?.throwIfAborted();
  const path = belowRoot(root, { ...uri, key: `${uri.key}/` }).replace(/\/$/, "");
  const place = { folders: path === "" ? [] : path.split("/"), subject: formatObjectUri(uri) };
  const base = path === "" ? root : `${root}/${path}`;
  const folder = await openFolders(root, place, "enter").catch(noneWhereMissing);
  if (folder === undefined) return;
  try {
    for (const entry of await readdir(folder.path, { withFileTypes: true }).catch(rethrow(place))) {
      const kind = kindOf(entry);
      if (kind === undefined || (kind === "file" && unfinishedName.test(entry.name))) continue;
      const modifiedAt = withTimes ? await modificationOf(folder.entry(entry.name)).catch(rethrow(place)) : null;
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

function noneWhereMissing(error: unknown): undefined {
  if (!(error instanceof ObjectStoreError && error.kind === "missing")) throw error;
}

/** Null: it has gone meanwhile. */
async function modificationOf(path: string): Promise<Date | null> {
  return lstat(path).then(
    ({ mtime }) => mtime,
    (error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
      throw error;
    },
  );
}

async function remove(root: string, place: Place, { signal }: CallOptions): Promise<void> {
  signal?.throwIfAborted();
  try {
    await inFolder(root, place, (folder) => unlink(folder.entry(place.name)));
  } catch (error) {
    if (!(error instanceof ObjectStoreError && error.kind === "missing")) throw error;
  }
}

async function stat(root: string, place: Place, { signal }: CallOptions): Promise<ObjectStat> {
  signal?.throwIfAborted();
  return inFolder(root, place, async (folder) => statOf(await lstat(folder.entry(place.name)), place));
}

function statOf(stats: Stats, { subject }: Pick<Place, "subject">): ObjectStat {
  if (stats.isSymbolicLink()) throw new ObjectStoreError("denied", `${subject}: symbolic links are not followed`);
  if (stats.isDirectory()) throw new ObjectStoreError("missing", `${subject}: a folder, not a file`);
  if (!stats.isFile()) throw new ObjectStoreError("denied", `${subject}: not a plain file`);
  return { size: stats.size, modifiedAt: stats.mtime, etag: null };
}

async function inFolder<T>(root: string, place: Place, work: (folder: Folder) => Promise<T>): Promise<T> {
  const folder = await openFolders(root, place, "enter");
  try {
    return await work(folder).catch(rethrow(place));
  } finally {
    await folder.close();
  }
}

async function openFolders(root: string, place: Omit<Place, "name">, mode: "enter" | "make"): Promise<Folder> {
  let folder = await Folder.openRoot(root).catch(rethrow(place));
  for (const name of place.folders) {
    const outer = folder;
    try {
      folder = await (mode === "make" ? outer.enterOrMake(name) : outer.enter(name));
    } catch (error) {
      throw fileFailure(place.subject, error);
    } finally {
      await outer.close();
    }
  }
  return folder;
}

function placeOf(root: string, text: string): Place {
  const uri = parseObjectUri(text);
  const folders = belowRoot(root, uri).split("/");
  const name = folders.pop() ?? "";
  if (name === "" || name === "." || name === "..") throw badUri("must name a file, not a folder");
  if (unfinishedName.test(name)) throw badUri("must not have a name that the store keeps for itself");
  return { folders, name, subject: formatObjectUri(uri) };
}

/** The path below the root, doubled slashes made one as the system does; empty for the root itself. */
function belowRoot(root: string, { scheme, key }: Pick<ObjectUri, "scheme" | "key">): string {
  if (scheme !== "file") throw badUri("must begin with file:/");
  const path = key.replaceAll(/\/{2,}/g, "/");
  if (path === root) return "";
  const base = root === "/" ? "/" : `${root}/`;
  if (!path.startsWith(base)) throw badUri(`must lie below ${uriOf(root)}`);
  const below = path.slice(base.length);
  // Of a prefix, the last name is only the beginning of one.
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

function rethrow({ subject }: Pick<Place, "subject">): (error: unknown) => never {
  return (error) => {
    throw fileFailure(subject, error);
  };
}
