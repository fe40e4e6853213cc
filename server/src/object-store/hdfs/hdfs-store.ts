import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { CheckAddress } from "../../lib/guarded-lookup.ts";
import { failureOfConnection, unreadable, ObjectStoreError } from "../object-store-error.ts";
import { DEFAULT_AGENT_LIMITS, guardedAgent, type AgentLimits } from "../guarded-agent.ts";
import type {
  ByteRange,
  CallOptions,
  FolderEntry,
  ListOptions,
  ObjectEntry,
  ObjectPage,
  ObjectStat,
  ObjectStore,
  PageOptions,
} from "../object-store.ts";
import { formatObjectUri, parseObjectUri, type ObjectUri } from "../object-uri.ts";
import { translatedBody } from "../object-body.ts";
import { pageOfTree, type OpenedFolder, type OpenFolder } from "../page-tree.ts";
import { findFile, type FileCall } from "./find-file.ts";
import { listHdfs, listHdfsPages, unfinishedName, readHdfsFolder } from "./list-hdfs.ts";
import { putFile } from "./put-file.ts";
import { WebHdfsClient } from "./webhdfs-client.ts";

export interface HdfsStoreOptions extends Partial<AgentLimits> {
  /** WebHDFS, `http(s)://host[:port][/path]`. The host in URIs belongs to another protocol and is ignored. */
  address: string;
  user: string;
  /** Checks every address before a connection to it, including those of redirects. */
  checkAddress: CheckAddress;
  /** Retries of a call after a transient failure. A write is repeated only if its body is a buffer. */
  retries?: number;
  /** Retry also if no connection could be made or the server was silent, for callers that can wait. */
  retriesTimeouts?: boolean;
  /** The name of the unfinished file for a path; random by default. */
  nameTemporary?: (path: string) => string;
  /** Limit for the entries of a folder. A server that lists more is not an HDFS. */
  maxEntries?: number;
  /** Limit for the memory of a sorted listing. */
  maxHeldBytes?: number;
}

const defaults = {
  ...DEFAULT_AGENT_LIMITS,
  retries: 3,
  retriesTimeouts: false,
  nameTemporary: () => `.put-${randomBytes(8).toString("hex")}`,
  maxEntries: 6_400_000, // the largest value that HDFS can be configured to allow
  maxHeldBytes: 128 * 1024 * 1024,
};

export interface HdfsStore extends ObjectStore {
  /** Reads a range of a file that is at least as long, into memory. */
  read(
    uri: string,
    range: { readonly offset: number; readonly length: number },
    options?: CallOptions,
  ): Promise<Buffer>;
  isFolder(uri: string, options?: CallOptions): Promise<boolean>;
  /** All files below a folder in pages, in no order, so that a folder may have any number of entries. */
  listPages(folderUri: string, options?: CallOptions): AsyncIterable<readonly ObjectEntry[]>;
  /**
   * Deletes a file or an empty folder. Sends the request once, because a repeated delete may delete what was written after
   * the first: the caller looks again before it tries again.
   */
  deleteOnce(uri: string, options?: CallOptions): Promise<void>;
  /** Removes the unfinished file that a writer with the same `nameTemporary` has left. */
  removeUnfinished(uri: string, options?: CallOptions): Promise<void>;
  /** Calls that were repeated so far. */
  readonly retryCount: number;
}

/** The files of an HDFS that its user can access, by WebHDFS with simple authentication (no Kerberos). */
export function hdfsStore(given: HdfsStoreOptions): HdfsStore {
  const options = { ...defaults, ...given };
  const { dispatcher, close } = guardedAgent(options.checkAddress, options);
  const client = new WebHdfsClient({ ...options, dispatcher, idleTimeoutMs: options.bodyIdleTimeoutMs });
  return {
    async get(text, { range, signal } = {}) {
      const file = { ...fileOf(text), signal };
      const found = await stat(client, file);
      return { ...found, body: await open(client, file, found.size, range) };
    },
    put: async (text, body, putOptions = {}) => {
      const file = { ...fileOf(text), signal: putOptions.signal };
      return putFile(client, file, body, temporaryPath(file, options), putOptions);
    },
    page: (text, pageOptions) => page(client, hdfsUriOf(text), { ...options, ...pageOptions }),
    async discard({ uri, id }, { signal } = {}) {
      const file = { ...fileOf(uri), signal };
      if (!unfinishedName.test(id)) throw badUri("must be that of an unfinished file");
      const path = `${file.path.slice(0, file.path.lastIndexOf("/"))}/${id}`;
      await client.document({ ...file, path, method: "DELETE", operation: "DELETE" });
    },
    async read(text, { offset, length }, { signal } = {}) {
      const query = { offset: String(offset), length: String(length) };
      return client.read({ ...fileOf(text), signal, method: "GET", operation: "OPEN", query }, length);
    },
    async isFolder(text, { signal } = {}) {
      const uri = hdfsUriOf(text);
      const path = pathOf(`${uri.key}/`).replace(/(?<=.)\/$/, "");
      const found = await findFile(client, { path, subject: formatObjectUri(uri), signal });
      return found?.kind === "folder";
    },
    async removeUnfinished(text, { signal } = {}) {
      const file = { ...fileOf(text), signal };
      await client.document({ ...file, path: temporaryPath(file, options), method: "DELETE", operation: "DELETE" });
    },
    list: (text, listOptions = {}) => list(client, hdfsUriOf(text), { ...options, ...listOptions }),
    listPages: (text, { signal } = {}) => listPages(client, hdfsUriOf(text), { ...options, signal }),
    folder: (text, { signal } = {}) => folder(client, hdfsUriOf(text), { ...options, signal }),
    async delete(text, { signal } = {}) {
      const file = { ...fileOf(text), signal };
      const found = await findFile(client, file);
      if (found === undefined) return;
      // HDFS would also delete an empty folder.
      if (found.kind !== "file") throw new ObjectStoreError("bad-request", `${file.subject}: a folder, not a file`);
      await client.document({ ...file, method: "DELETE", operation: "DELETE" });
    },
    async removeFolder(text, { signal } = {}) {
      const file = { ...fileOf(text), signal };
      if ((await findFile(client, file))?.kind !== "folder") return "missing";
      const removal = { ...file, method: "DELETE", operation: "DELETE", query: { recursive: "false" } } as const;
      // HDFS refuses one that is not empty.
      await client.document(removal).catch(() => undefined);
      return (await findFile(client, file)) === undefined ? "removed" : "left";
    },
    async deleteOnce(text, { signal } = {}) {
      await client.document({ ...fileOf(text), signal, method: "DELETE", operation: "DELETE", isSentOnce: true });
    },
    stat: async (text, { signal } = {}) => stat(client, { ...fileOf(text), signal }),
    get retryCount() {
      return client.retryCount;
    },
    close,
  };
}

async function stat(client: WebHdfsClient, file: FileCall): Promise<ObjectStat> {
  const found = await findFile(client, file);
  if (found?.kind === "file") return { size: found.size, modifiedAt: found.modifiedAt, etag: found.etag };
  throw new ObjectStoreError(
    "missing",
    `${file.subject}: ${found === undefined ? "not found" : "a folder, not a file"}`,
  );
}

/** Requests only the bytes of the known size, because the file may grow meanwhile. */
async function open(client: WebHdfsClient, file: FileCall, size: number, range?: ByteRange): Promise<Readable> {
  const { subject, signal } = file;
  const offset = range?.offset ?? 0;
  if (range !== undefined && offset >= size) {
    throw new ObjectStoreError("bad-range", `${subject}: the range starts after the end of the object`);
  }
  const length = Math.min(range?.length ?? Infinity, size - offset);
  if (length === 0) return Readable.from([], { objectMode: false });
  const query = { offset: String(offset), length: String(length) };
  const { body, headers } = await client.open({ ...file, method: "GET", operation: "OPEN", query });
  const translated = translatedBody(body, (error) =>
    signal?.aborted === true ? signal.reason : failureOfConnection(subject, error).error,
  );
  const promised = headers["content-length"];
  if (promised === undefined || Number(promised) === length) return translated;
  translated.destroy();
  throw unreadable(subject, new Error("the response has another length than requested"));
}

function temporaryPath(
  { path }: FileCall,
  { nameTemporary }: Required<Pick<HdfsStoreOptions, "nameTemporary">>,
): string {
  return `${path.slice(0, path.lastIndexOf("/"))}/${nameTemporary(path)}`;
}

interface Bounds {
  maxEntries: number;
  maxHeldBytes: number;
}

async function* list(
  client: WebHdfsClient,
  uri: ObjectUri,
  options: ListOptions & Bounds,
): AsyncGenerator<ObjectEntry> {
  const { maxKeys = Infinity, after, signal, maxEntries, maxHeldBytes } = options;
  const subject = formatObjectUri(uri);
  let left = maxKeys;
  if (left <= 0) return;
  const read = (path: string) => readHdfsFolder(client, { subject, signal, path, maxEntries });
  const tooMany = () => new ObjectStoreError("too-large", `${subject}: a folder has too many entries to sort them`);
  for await (const found of listHdfs(read, { prefix: pathOf(uri.key), after, maxHeldBytes, tooMany })) {
    yield { ...found, uri: formatObjectUri({ ...uri, key: found.key }) };
    left -= 1;
    if (left <= 0) return;
  }
}

async function page(
  client: WebHdfsClient,
  uri: ObjectUri,
  { signal, maxEntries, after, delimiter, limit }: PageOptions & Bounds,
): Promise<ObjectPage> {
  const subject = formatObjectUri(uri);
  const entriesOf = (path: string): OpenedFolder["entries"] =>
    async function* () {
      for await (const found of readHdfsFolder(client, { subject, signal, path, maxEntries })) {
        yield found.flatMap(({ kind, name, size, modifiedAt, etag }) =>
          kind === "other" || unfinishedName.test(name) ? [] : [{ kind, name, stat: { size, modifiedAt, etag } }],
        );
      }
    };
  const open: OpenFolder = async (path) => ({
    entries: entriesOf(path),
    stat: async () => undefined, // the entries have it
    close: async () => undefined,
  });
  const found = await pageOfTree(open, { prefix: pathOf(uri.key), signal, after, delimiter, limit });
  const entries = found.files.map(({ path, ...stat }) => ({
    ...stat,
    key: path,
    uri: formatObjectUri({ ...uri, key: path }),
  }));
  return { entries, prefixes: found.prefixes, hasMore: found.hasMore };
}

async function* listPages(
  client: WebHdfsClient,
  uri: ObjectUri,
  { signal, maxEntries }: CallOptions & Bounds,
): AsyncGenerator<readonly ObjectEntry[]> {
  const subject = formatObjectUri(uri);
  const read = (path: string) => readHdfsFolder(client, { subject, signal, path, maxEntries });
  for await (const page of listHdfsPages(read, folderPath(uri))) {
    yield page.map((found) => ({ ...found, uri: formatObjectUri({ ...uri, key: found.key }) }));
  }
}

/** In HDFS's order, so that only one page is in memory. */
async function* folder(
  client: WebHdfsClient,
  uri: ObjectUri,
  { signal, maxEntries }: CallOptions & Bounds,
): AsyncGenerator<FolderEntry> {
  const path = folderPath(uri);
  for await (const page of readHdfsFolder(client, { subject: formatObjectUri(uri), path, signal, maxEntries })) {
    for (const { kind, name, modifiedAt } of page) {
      if (kind === "other" || unfinishedName.test(name)) continue;
      yield { kind, name, uri: formatObjectUri({ ...uri, key: `${path}${name}` }), modifiedAt };
    }
  }
}

function hdfsUriOf(text: string): ObjectUri {
  const uri = parseObjectUri(text);
  if (uri.scheme !== "hdfs") throw badUri("must begin with hdfs://");
  return uri;
}

function fileOf(text: string): FileCall {
  const uri = hdfsUriOf(text);
  const path = pathOf(uri.key);
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name === "" || name === "." || name === "..") throw badUri("must name a file, not a folder");
  if (unfinishedName.test(name)) throw badUri("must not have a name that is reserved for temporary files");
  return { path, subject: formatObjectUri(uri) };
}

/** Collapses double slashes, as HDFS does. */
function pathOf(key: string): string {
  const path = key.replaceAll(/\/{2,}/g, "/");
  // The last name of a prefix is incomplete, so it is not checked.
  const folders = path.split("/").slice(0, -1);
  if (folders.some((name) => name === "." || name === "..")) throw badUri("must not have . or .. in its path");
  return path;
}

function folderPath({ key }: ObjectUri): string {
  return pathOf(key.endsWith("/") ? key : `${key}/`);
}

function badUri(rule: string): ObjectStoreError {
  return new ObjectStoreError("bad-uri", `the URI ${rule}`);
}
