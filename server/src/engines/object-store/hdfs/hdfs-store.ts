import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { CheckAddress } from "../../../lib/guarded-lookup.ts";
import { failureOfConnection, unreadable } from "../connection-failure.ts";
import { BodySource } from "./body-source.ts";
import { guardedAgent, type AgentLimits } from "../guarded-agent.ts";
import type {
  ByteRange,
  CallOptions,
  FolderEntry,
  ListOptions,
  ObjectBody,
  ObjectEntry,
  ObjectStat,
  ObjectStore,
} from "../object-store.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import { formatObjectUri, parseObjectUri, type ObjectUri } from "../object-uri.ts";
import { translatedBody } from "../translated-body.ts";
import { isDone, parseFileStatus, type FileStatus } from "./file-status.ts";
import { listHdfs, unfinishedName } from "./list-hdfs.ts";
import { orMissing, parsed } from "./read-answer.ts";
import { readFolder } from "./read-folder.ts";
import { WebHdfsClient } from "./webhdfs-client.ts";

export interface HdfsStoreOptions extends Partial<AgentLimits> {
  /** `http(s)://host[:port][/path]`: its WebHDFS. The host of a URI is that of another protocol and does not count. */
  address: string;
  user: string;
  /** Asked with every address that is connected to, those that HDFS sends us on to among them. */
  checkAddress: CheckAddress;
  /** Of a call that only reads and broke off or was answered "later", besides the first try. */
  retries?: number;
  /** In one folder; where more are told of, it is no HDFS. */
  mostEntries?: number;
  /** What a listing in order may hold. */
  mostHeldBytes?: number;
}

const defaults = {
  connectTimeoutMs: 5_000,
  headersTimeoutMs: 30_000,
  bodyIdleTimeoutMs: 30_000,
  maxConnections: 16,
  retries: 3,
  mostEntries: 6_400_000, // no HDFS can be set to allow more
  mostHeldBytes: 128 * 1024 * 1024,
};

/** A file: its path, and what error messages call it. */
interface Place extends CallOptions {
  path: string;
  subject: string;
}

/** Files of one HDFS, as far as its user may reach them, by WebHDFS. Simple authentication, no Kerberos. */
export function hdfsStore(given: HdfsStoreOptions): ObjectStore {
  const options = { ...defaults, ...given };
  const { dispatcher, close } = guardedAgent(options.checkAddress, options);
  const client = new WebHdfsClient({ ...options, dispatcher, idleTimeoutMs: options.bodyIdleTimeoutMs });
  return {
    async get(text, { range, signal } = {}) {
      const place = { ...fileOf(text), signal };
      const found = await stat(client, place);
      return { ...found, body: await open(client, place, found.size, range) };
    },
    put: async (text, body, { signal } = {}) => put(client, { ...fileOf(text), signal }, body),
    list: (text, listOptions = {}) => list(client, hdfsUriOf(text), { ...options, ...listOptions }),
    folder: (text, { signal } = {}) => folder(client, hdfsUriOf(text), { ...options, signal }),
    async delete(text, { signal } = {}) {
      const place = { ...fileOf(text), signal };
      const found = await find(client, place);
      if (found === undefined) return;
      // HDFS would take an empty folder, too.
      if (found.kind !== "file") throw new ObjectStoreError("bad-request", `${place.subject}: a folder, not a file`);
      await client.document({ ...place, method: "DELETE", operation: "DELETE" });
    },
    stat: async (text, { signal } = {}) => stat(client, { ...fileOf(text), signal }),
    close,
  };
}

async function stat(client: WebHdfsClient, place: Place): Promise<ObjectStat> {
  const found = await find(client, place);
  if (found?.kind === "file") return { size: found.size, modifiedAt: found.modifiedAt, etag: null };
  throw new ObjectStoreError(
    "missing",
    `${place.subject}: ${found === undefined ? "not found" : "a folder, not a file"}`,
  );
}

async function find(client: WebHdfsClient, place: Place): Promise<FileStatus | undefined> {
  const read = async (): Promise<FileStatus> => {
    const document = await client.document({ ...place, method: "GET", operation: "GETFILESTATUS" });
    return parsed(place, () => parseFileStatus(document));
  };
  return orMissing(read());
}

/** Asks for just the bytes that the size promises: the file may grow meanwhile. */
async function open(client: WebHdfsClient, place: Place, size: number, range?: ByteRange): Promise<Readable> {
  const { subject, signal } = place;
  const offset = range?.offset ?? 0;
  if (range !== undefined && offset >= size) {
    throw new ObjectStoreError("bad-range", `${subject}: the range begins beyond the end`);
  }
  const length = Math.min(range?.length ?? Infinity, size - offset);
  if (length === 0) return Readable.from([], { objectMode: false });
  const query = { offset: String(offset), length: String(length) };
  const { body, headers } = await client.open({ ...place, method: "GET", operation: "OPEN", query });
  const translated = translatedBody(body, (error) =>
    signal?.aborted === true ? signal.reason : failureOfConnection(subject, error).error,
  );
  const promised = headers["content-length"];
  if (promised === undefined || Number(promised) === length) return translated;
  translated.destroy();
  throw unreadable(subject, new Error("the answer has another length than was asked for"));
}

/** Written beside its place under a name nobody lists, then put there in one step. */
async function put(client: WebHdfsClient, place: Place, given: ObjectBody): Promise<void> {
  const { path, subject, signal } = place;
  const source = new BodySource(given);
  const call = { path: `${path.slice(0, path.lastIndexOf("/"))}/.put-${randomBytes(8).toString("hex")}`, subject };
  try {
    await client.create({ ...call, signal, method: "PUT", operation: "CREATE" }, source.body);
    const query = { destination: path, renameoptions: "OVERWRITE" };
    const renamed = await client.document({ ...call, signal, method: "PUT", operation: "RENAME", query });
    if (!parsed(place, () => isDone(renamed))) {
      throw new ObjectStoreError("bad-request", `${subject}: HDFS does not let it be written there`);
    }
  } catch (error) {
    await client.document({ ...call, method: "DELETE", operation: "DELETE" }).catch(() => undefined);
    signal?.throwIfAborted();
    source.throwIfFailed();
    throw error;
  } finally {
    source.end();
  }
}

interface Bounds {
  mostEntries: number;
  mostHeldBytes: number;
}

async function* list(
  client: WebHdfsClient,
  uri: ObjectUri,
  options: ListOptions & Bounds,
): AsyncGenerator<ObjectEntry> {
  const { maxKeys = Infinity, after, signal, mostEntries, mostHeldBytes } = options;
  const subject = formatObjectUri(uri);
  let left = maxKeys;
  if (left <= 0) return;
  const read = (path: string) => readFolder(client, { subject, signal, path, mostEntries });
  const tooMany = () =>
    new ObjectStoreError("too-large", `${subject}: more entries in a folder than can be put in order`);
  for await (const found of listHdfs(read, { prefix: pathOf(uri.key), after, mostHeldBytes, tooMany })) {
    yield { ...found, uri: formatObjectUri({ ...uri, key: found.key }) };
    left -= 1;
    if (left <= 0) return;
  }
}

/** As it comes: nothing is held but a page of it. */
async function* folder(
  client: WebHdfsClient,
  uri: ObjectUri,
  { signal, mostEntries }: CallOptions & Bounds,
): AsyncGenerator<FolderEntry> {
  const path = pathOf(uri.key.endsWith("/") ? uri.key : `${uri.key}/`);
  for await (const page of readFolder(client, { subject: formatObjectUri(uri), path, signal, mostEntries })) {
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

function fileOf(text: string): Place {
  const uri = hdfsUriOf(text);
  const path = pathOf(uri.key);
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name === "" || name === "." || name === "..") throw badUri("must name a file, not a folder");
  if (unfinishedName.test(name)) throw badUri("must not have a name that the store keeps for itself");
  return { path, subject: formatObjectUri(uri) };
}

/** Doubled slashes made one, as HDFS does. */
function pathOf(key: string): string {
  const path = key.replaceAll(/\/{2,}/g, "/");
  // Of a prefix, the last name is only the beginning of one.
  const folders = path.split("/").slice(0, -1);
  if (folders.some((name) => name === "." || name === "..")) throw badUri("must not have . or .. in its path");
  return path;
}

function badUri(rule: string): ObjectStoreError {
  return new ObjectStoreError("bad-uri", `the URI ${rule}`);
}
