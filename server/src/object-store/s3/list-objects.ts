import type {
  FolderEntry,
  ListOptions,
  ObjectEntry,
  ObjectPage,
  PageOptions as ObjectPageOptions,
} from "../object-store.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import { formatObjectUri, type ObjectUri } from "../object-uri.ts";
import { ListingError } from "./key-order.ts";
import { RecentPages, RepeatedPages } from "./repeated-pages.ts";
import type { S3Client } from "./s3-client.ts";
import { readDocument } from "./s3-objects.ts";
import type { ListedObject, ListPagesOptions } from "./s3-operations.ts";
import { parseListPage, type ListPage } from "./s3-xml.ts";
import { splitListing } from "./split-listing.ts";

interface PageOptions {
  readonly pageSize: number;
  readonly signal: AbortSignal | undefined;
}

const defaultConcurrency = 8;

/** Objects in the store's order. */
export async function* listObjects(
  client: S3Client,
  uri: ObjectUri,
  { maxKeys = Infinity, after, signal, pageSize }: ListOptions & { pageSize: number },
): AsyncGenerator<ObjectEntry> {
  let left = maxKeys;
  if (left <= 0) return;
  const query = after === undefined ? {} : { "start-after": after };
  for await (const { entries } of pages(client, uri, { query, signal, pageSize: () => Math.min(left, pageSize) })) {
    for (const { key, size, modifiedMs, etag } of entries.slice(0, left))
      yield { key, size, modifiedAt: new Date(modifiedMs), etag, uri: formatObjectUri({ ...uri, key }) };
    left -= entries.length;
    if (left <= 0) return;
  }
}

/**
 * One page in the store's order. A store with a delimiter may begin with the prefix that `after` names, because the keys
 * below it come after it.
 */
export async function listPage(
  client: S3Client,
  uri: ObjectUri,
  { delimiter, after, limit, signal }: ObjectPageOptions,
): Promise<ObjectPage> {
  const query = {
    ...(delimiter === undefined ? {} : { delimiter }),
    ...(after === undefined ? {} : { "start-after": after }),
  };
  const found: ObjectPage = { entries: [], prefixes: [], hasMore: false };
  const missing = (): number => limit - found.entries.length - found.prefixes.length;
  for await (const { entries, prefixes, nextToken } of pages(client, uri, { query, signal, pageSize: missing })) {
    for (const { key, size, modifiedMs, etag } of entries) {
      if (key === after) continue;
      found.entries.push({ key, size, modifiedAt: new Date(modifiedMs), etag, uri: formatObjectUri({ ...uri, key }) });
    }
    found.prefixes.push(...prefixes.filter((prefix) => prefix !== after));
    found.hasMore = nextToken !== null;
    if (missing() <= 0) break;
  }
  return found;
}

/** Objects in pages and in no order. */
export async function* listObjectPages(
  client: S3Client,
  uri: ObjectUri,
  { concurrency = defaultConcurrency, signal, pageSize }: ListPagesOptions & { pageSize: number },
): AsyncGenerator<readonly ListedObject[]> {
  const base = formatObjectUri({ ...uri, key: "" });
  const ordered = isOrdered(uri);
  const listing = splitListing(
    ({ after, token, prefix = uri.key, maxKeys = pageSize }, pageSignal) => {
      const query: Record<string, string> = token === undefined ? {} : { "continuation-token": token };
      if (after !== undefined) query["start-after"] = after;
      return fetchPage(client, { ...uri, key: prefix }, query, { pageSize: maxKeys, signal: pageSignal });
    },
    { prefix: uri.key, concurrency: ordered ? concurrency : 1, isOrdered: ordered, signal },
  );
  try {
    // Spreading the objects (`...`) would take a third of the time of a listing.
    for await (const page of listing) {
      yield page.map(({ key, size, modifiedMs, etag, storageClass }) => {
        return { uri: base + key, key, size, modifiedMs, etag, storageClass };
      });
    }
  } catch (error) {
    throw explained(error, uri);
  }
}

/** Directory buckets have no order, nor have their access points (`--xa-s3`). */
function isOrdered({ bucket }: ObjectUri): boolean {
  return !/--xa?-s3$/.test(bucket);
}

function explained(error: unknown, uri: ObjectUri): unknown {
  if (!(error instanceof ListingError)) return error;
  return new ObjectStoreError("bad-response", `${formatObjectUri(uri)}: ${error.message}`, { cause: error });
}

export async function* listFolder(
  client: S3Client,
  uri: ObjectUri,
  { signal, pageSize }: PageOptions,
): AsyncGenerator<FolderEntry> {
  const base = uri.key === "" || uri.key.endsWith("/") ? uri.key : `${uri.key}/`;
  const below = { ...uri, key: base };
  const query = { delimiter: "/" };
  for await (const { entries, prefixes } of pages(client, below, { query, signal, pageSize: () => pageSize })) {
    const found = [
      ...prefixes.map((key) => ({ kind: "folder" as const, key: key.slice(0, -1), modifiedAt: null })),
      ...entries.map(({ key, modifiedMs }) => ({ kind: "file" as const, key, modifiedAt: new Date(modifiedMs) })),
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

/** In the order of the store, whatever it is: some list names in the order of their encrypted form (Storj). */
async function* pages(client: S3Client, uri: ObjectUri, options: PagesOptions): AsyncGenerator<ListPage> {
  const { signal, pageSize } = options;
  const seen = new RepeatedPages();
  const recent = new RecentPages();
  let lastPrefix = "";
  try {
    for (let token: string | null = null; ;) {
      const query = { ...options.query, ...(token === null ? {} : { "continuation-token": token }) };
      const page: ListPage = await fetchPage(client, uri, query, { pageSize: pageSize(), signal });
      const { entries, nextToken } = page;
      // Older MinIO and versitygw begin a page with the last prefix of the previous one.
      const prefixes = page.prefixes.filter((prefix) => prefix !== lastPrefix);
      if (recent.isRepeated(entries, prefixes)) throw new ListingError("the listing repeats a page");
      yield { entries, prefixes, nextToken };
      token = nextToken;
      if (token === null) return;
      if (seen.isRepeated({ token, lastKey: entries.at(-1)?.key })) {
        throw new ListingError("the listing repeats a page");
      }
      lastPrefix = prefixes.at(-1) ?? lastPrefix;
    }
  } catch (error) {
    throw explained(error, uri);
  }
}

async function fetchPage(
  client: S3Client,
  uri: ObjectUri,
  given: Readonly<Record<string, string>>,
  { pageSize, signal }: PageOptions,
): Promise<ListPage> {
  const subject = formatObjectUri(uri);
  const query: Record<string, string> = {
    ...given,
    "list-type": "2",
    "encoding-type": "url",
    "max-keys": String(pageSize),
    ...(uri.key === "" ? {} : { prefix: uri.key }),
  };
  const answer = await client.collect({ method: "GET", bucket: uri.bucket, key: "", query, subject, signal });
  return readDocument(answer, subject, parseListPage);
}
