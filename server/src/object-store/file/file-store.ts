import { constants, type Dirent } from "node:fs";
import { lstat, open, opendir, rmdir, unlink } from "node:fs/promises";
import { resolve } from "node:path";
import type {
  CallOptions,
  FolderEntry,
  FolderOptions,
  GetOptions,
  ListOptions,
  ObjectEntry,
  ObjectPage,
  ObjectStat,
  ObjectStore,
  PageOptions,
  StoredObject,
} from "../object-store.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import { formatObjectUri, parseObjectUri, type ObjectUri } from "../object-uri.ts";
import { translatedBody } from "../object-body.ts";
import { fileFailure } from "./file-failure.ts";
import { pageOfTree, type OpenedFolder } from "../page-tree.ts";
import { Folder } from "./folder.ts";
import { listFiles, unfinishedName } from "./list-files.ts";
import { openFolders, rethrow, type FilePath } from "./open-folder-chain.ts";
import { openForPage } from "./page-folder.ts";
import { putFile } from "./put-file.ts";
import { statOf } from "./stat-of.ts";

/** Large pieces, because each costs a turn of the event loop in several streams. */
const READ_PIECE_BYTES = 256 * 1024;
const ENTRIES_AT_A_TIME = 500;
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export interface FileStoreOptions {
  readonly rootDir: string;
  /**
   * Where files are written until they are complete, if it is on the same disk: a folder that only we can write to and
   * that a start empties. By default they are in the folder of the file, where a killed process leaves them.
   */
  readonly stagingDir?: string | undefined;
}

/** Files below a root folder. Nothing outside can be reached: no `..`, no other root, no symbolic link at any level. */
export function fileStore({ rootDir, stagingDir }: FileStoreOptions): ObjectStore {
  const root = resolve(rootDir);
  return {
    get: async (uri, options = {}) => get(root, pathOf(root, uri), options),
    put: async (uri, body, options = {}) => putFile({ root, stagingDir }, pathOf(root, uri), body, options),
    list: (uri, options = {}) => list(root, belowRoot(root, parseObjectUri(uri)), options),
    page: async (uri, options) => page(root, belowRoot(root, parseObjectUri(uri)), options),
    folder: (uri, options = {}) => readFolder(root, parseObjectUri(uri), options),
    delete: async (uri, options = {}) => remove(root, pathOf(root, uri, "any"), options),
    stat: async (uri, options = {}) => stat(root, pathOf(root, uri, "any"), options),
    removeFolder: async (uri) => removeFolder(root, pathOf(root, uri, "any")),
    discard: () => Promise.resolve(), // a start empties the staging folder
    close: () => Promise.resolve(),
  };
}

async function get(root: string, file: FilePath, { range, signal }: GetOptions): Promise<StoredObject> {
  signal?.throwIfAborted();
  const handle = await inFolder(root, file, (folder) => open(folder.entry(file.name), readFlags));
  try {
    const found = statOf(await handle.stat({ bigint: true }), file);
    const start = range?.offset ?? 0;
    if (range !== undefined && start >= found.size) {
      throw new ObjectStoreError("bad-range", `${file.subject}: the range starts after the end of the object`);
    }
    const end = range?.length === undefined ? Infinity : start + range.length - 1;
    const source = handle.createReadStream({
      start,
      end,
      highWaterMark: READ_PIECE_BYTES,
      ...(signal === undefined ? {} : { signal }),
    });
    const translate = (error: unknown): unknown =>
      signal?.aborted === true ? signal.reason : fileFailure(file.subject, error);
    return { ...found, body: translatedBody(source, translate) };
  } catch (error) {
    await handle.close();
    throw fileFailure(file.subject, error);
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

async function page(root: string, prefix: string, options: PageOptions): Promise<ObjectPage> {
  const { after } = options;
  const subject = uriOf(`${root}/${prefix}`);
  const open = (path: string): Promise<OpenedFolder | undefined> => openForPage(root, path, subject);
  const { files, prefixes, hasMore } = await pageOfTree(open, {
    ...options,
    prefix,
    after: after === undefined ? undefined : belowRoot(root, { scheme: "file", key: after }),
  });
  const entries = files.map(({ path, ...found }) => ({
    ...found,
    key: `${root}/${path}`,
    uri: uriOf(`${root}/${path}`),
  }));
  return { entries, prefixes: prefixes.map((path) => `${root}/${path}`), hasMore };
}

/** Reads times only if requested, because that takes ten times as long as reading the names. */
async function* readFolder(
  root: string,
  uri: ObjectUri,
  { signal, withTimes = false, withAll = false }: FolderOptions,
): AsyncGenerator<FolderEntry> {
  signal?.throwIfAborted();
  const path = belowRoot(root, { ...uri, key: `${uri.key}/` }).replace(/\/$/, "");
  const file = { folders: path === "" ? [] : path.split("/"), subject: formatObjectUri(uri) };
  const base = path === "" ? root : `${root}/${path}`;
  const folder = await openFolders(root, file, "enter").catch(undefinedIfMissing);
  if (folder === undefined) return;
  try {
    for await (const entry of await opendir(folder.path, { bufferSize: ENTRIES_AT_A_TIME })) {
      const kind = kindOf(entry) ?? (withAll ? "file" : undefined);
      if (kind === undefined || (kind === "file" && !withAll && unfinishedName.test(entry.name))) continue;
      if (withAll) await checkName(folder, entry, file.subject);
      const modifiedAt = withTimes ? await modificationOf(folder.entry(entry.name)) : null;
      yield { kind, name: entry.name, uri: uriOf(`${base}/${entry.name}`), modifiedAt };
    }
  } catch (error) {
    throw fileFailure(file.subject, error);
  } finally {
    await folder.close();
  }
}

/** Bytes that are not UTF-8 are shown as U+FFFD: the entry cannot be reached by such a name. */
async function checkName(folder: Folder, { name }: Dirent, subject: string): Promise<void> {
  if (!name.includes("\uFFFD")) return;
  await lstat(folder.entry(name)).catch(() => {
    throw new ObjectStoreError("bad-uri", `${subject}: a name in the folder is not UTF-8`);
  });
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

async function removeFolder(root: string, file: FilePath): Promise<"removed" | "left" | "missing"> {
  try {
    await inFolder(root, file, (folder) => rmdir(folder.entry(file.name)));
    return "removed";
  } catch (error) {
    return error instanceof ObjectStoreError && error.kind === "missing" ? "missing" : "left";
  }
}

async function stat(root: string, file: FilePath, { signal }: CallOptions): Promise<ObjectStat> {
  signal?.throwIfAborted();
  return inFolder(root, file, async (folder) => statOf(await lstat(folder.entry(file.name), { bigint: true }), file));
}

async function inFolder<T>(root: string, file: FilePath, work: (folder: Folder) => Promise<T>): Promise<T> {
  const folder = await openFolders(root, file, "enter");
  try {
    return await work(folder).catch(rethrow(file));
  } finally {
    await folder.close();
  }
}

/** Names of unfinished files are those of writers, but such a file, or a folder that a program made, can be deleted. */
function pathOf(root: string, text: string, names: "any" | "ordinary" = "ordinary"): FilePath {
  const uri = parseObjectUri(text);
  const folders = belowRoot(root, uri).split("/");
  const name = folders.pop() ?? "";
  if (name === "" || name === "." || name === "..") throw badUri("must name a file, not a folder");
  if (names === "ordinary" && unfinishedName.test(name))
    throw badUri("must not have a name that is reserved for temporary files");
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
