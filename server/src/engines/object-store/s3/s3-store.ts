import { systemClock, type Clock } from "../../../lib/clock.ts";
import type { CheckAddress } from "../../../lib/guarded-lookup.ts";
import type { ByteRange, FolderEntry, ListOptions, ObjectEntry, ObjectStat, ObjectStore } from "../object-store.ts";
import { failureOfConnection, unreadable, ObjectStoreError } from "../object-store-error.ts";
import { formatObjectUri, parseObjectUri, type ObjectUri } from "../object-uri.ts";
import { translatedBody } from "../object-body.ts";
import { DEFAULT_AGENT_LIMITS, guardedAgent, type AgentLimits } from "../guarded-agent.ts";
import { S3Client, type S3Credentials, type S3Response } from "./s3-client.ts";
import { upload, type UploadLimits } from "./s3-upload.ts";
import { parseListPage, type ListPage } from "./s3-xml.ts";

export interface S3StoreOptions extends Partial<AgentLimits>, Partial<UploadLimits> {
  /** `http(s)://host[:port][/path]`; null: the AWS endpoint of the region. */
  endpoint: string | null;
  region: string;
  credentials: S3Credentials;
  checkAddress: CheckAddress;
  clock?: Clock;
  /** Retries of a call after a transient failure. */
  retries?: number;
  /** Keys per page of a listing. */
  pageSize?: number;
}

const defaults = {
  ...DEFAULT_AGENT_LIMITS,
  partSizeBytes: 8 * 1024 * 1024,
  partsInFlight: 2,
  retries: 3,
  pageSize: 1000,
  clock: systemClock,
};

/** Objects in S3 or a compatible store, in all buckets that the credentials can access. */
export function s3Store(given: S3StoreOptions): ObjectStore {
  const options = { ...defaults, ...given };
  const { dispatcher, close } = guardedAgent(options.checkAddress, options);
  const client = new S3Client({ ...options, dispatcher });
  return {
    async get(text, { range, signal } = {}) {
      const { uri, subject } = objectOf(text);
      const headers = range === undefined ? {} : { range: rangeHeader(range) };
      const response = await client.send({ method: "GET", ...uri, headers, subject, signal });
      const body = translatedBody(response.body, (error) =>
        signal?.aborted === true ? signal.reason : failureOfConnection(subject, error).error,
      );
      try {
        return { ...statOf(response, subject, range), body };
      } catch (error) {
        body.destroy();
        throw error;
      }
    },
    async put(text, body, putOptions = {}) {
      const { uri, subject } = objectOf(text);
      await upload(client, uri, body, { ...options, ...putOptions, subject });
    },
    list: (text, listOptions = {}) => list(client, s3UriOf(text), { ...listOptions, pageSize: options.pageSize }),
    folder: (text, { signal } = {}) => folder(client, s3UriOf(text), { signal, pageSize: options.pageSize }),
    async delete(text, { signal } = {}) {
      const { uri, subject } = objectOf(text);
      try {
        await client.sendForHeaders({ method: "DELETE", ...uri, subject, signal });
      } catch (error) {
        // Some stores report a missing object, which counts as deleted; a missing bucket is always an error.
        const isGone = error instanceof ObjectStoreError && error.kind === "missing" && error.code !== "NoSuchBucket";
        if (!isGone) throw error;
      }
    },
    async stat(text, { signal } = {}) {
      const { uri, subject } = objectOf(text);
      const response = await client.send({ method: "HEAD", ...uri, subject, signal });
      await response.body.dump();
      return statOf(response, subject, undefined);
    },
    close,
  };
}

async function* list(
  client: S3Client,
  uri: ObjectUri,
  { maxKeys = Infinity, after, signal, pageSize }: ListOptions & { pageSize: number },
): AsyncGenerator<ObjectEntry> {
  let left = maxKeys;
  if (left <= 0) return;
  const query = after === undefined ? {} : { "start-after": after };
  for await (const { entries } of pages(client, uri, { query, signal, pageSize: () => Math.min(left, pageSize) })) {
    for (const entry of entries.slice(0, left)) yield { ...entry, uri: formatObjectUri({ ...uri, key: entry.key }) };
    left -= entries.length;
    if (left <= 0) return;
  }
}

async function* folder(
  client: S3Client,
  uri: ObjectUri,
  { signal, pageSize }: { signal: AbortSignal | undefined; pageSize: number },
): AsyncGenerator<FolderEntry> {
  const base = uri.key === "" || uri.key.endsWith("/") ? uri.key : `${uri.key}/`;
  const below = { ...uri, key: base };
  const query = { delimiter: "/" };
  for await (const { entries, prefixes } of pages(client, below, { query, signal, pageSize: () => pageSize })) {
    const found = [
      ...prefixes.map((key) => ({ kind: "folder" as const, key: key.slice(0, -1), modifiedAt: null })),
      ...entries.map(({ key, modifiedAt }) => ({ kind: "file" as const, key, modifiedAt })),
    ];
    for (const { kind, key, modifiedAt } of found) {
      const name = key.slice(base.length);
      // Skips the marker that some tools create for the folder itself, and keys with two slashes.
      if (name !== "") yield { kind, name, uri: formatObjectUri({ ...uri, key }), modifiedAt };
    }
  }
}

interface PagesOptions {
  readonly query: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
  readonly pageSize: () => number;
}

async function* pages(client: S3Client, uri: ObjectUri, options: PagesOptions): AsyncGenerator<ListPage> {
  const { signal, pageSize } = options;
  const subject = formatObjectUri(uri);
  for (let token: string | null = null; ;) {
    const query: Record<string, string> = {
      ...options.query,
      "list-type": "2",
      "encoding-type": "url",
      "max-keys": String(pageSize()),
      ...(uri.key === "" ? {} : { prefix: uri.key }),
      ...(token === null ? {} : { "continuation-token": token }),
    };
    const page = readPage(
      await client.sendForText({ method: "GET", bucket: uri.bucket, key: "", query, subject, signal }),
      subject,
    );
    yield page;
    if (page.nextToken === null) return;
    if (page.nextToken === token) throw unreadable(subject, new Error("the listing repeats a page"));
    token = page.nextToken;
  }
}

function readPage(xml: string, subject: string): ListPage {
  try {
    return parseListPage(xml);
  } catch (error) {
    throw unreadable(subject, error);
  }
}

function s3UriOf(text: string): ObjectUri {
  const uri = parseObjectUri(text);
  if (uri.scheme !== "s3") throw new ObjectStoreError("bad-uri", "the URI must begin with s3://, s3a:// or s3n://");
  return uri;
}

function objectOf(text: string): { uri: ObjectUri; subject: string } {
  const uri = s3UriOf(text);
  if (uri.key === "") throw new ObjectStoreError("bad-uri", "the URI must name an object in the bucket");
  return { uri, subject: formatObjectUri(uri) };
}

function rangeHeader({ offset, length }: ByteRange): string {
  return `bytes=${offset}-${length === undefined ? "" : offset + length - 1}`;
}

function statOf({ statusCode, headers }: S3Response, subject: string, range: ByteRange | undefined): ObjectStat {
  const whole = /^bytes \d+-\d+\/(\d+)$/.exec(String(headers["content-range"] ?? ""))?.[1];
  const isPart = statusCode === 206;
  if (isPart !== (range !== undefined))
    throw unreadable(subject, new Error("the response does not match the requested range"));
  const sizeText = isPart ? whole : headers["content-length"];
  const size = typeof sizeText === "string" ? Number(sizeText) : NaN;
  if (!Number.isSafeInteger(size)) throw unreadable(subject, new Error("the response has no valid length"));
  const modifiedAt = new Date(String(headers["last-modified"] ?? ""));
  if (Number.isNaN(modifiedAt.getTime()))
    throw unreadable(subject, new Error("the response has no valid Last-Modified"));
  const etag = headers["etag"];
  return { size, modifiedAt, etag: typeof etag === "string" ? etag.replaceAll('"', "") : null };
}
