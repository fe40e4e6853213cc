/**
 * The interface of all object stores: S3 (`s3-store.ts`), HDFS (`hdfs-store.ts`) and folders of this machine
 * (`file-store.ts`). URIs are literal, never percent-decoded. Every failure is an `ObjectStoreError`, except the reason of
 * an aborted signal and an error of the body given to `put`.
 */
import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import { ObjectStoreError } from "./object-store-error.ts";

export interface ObjectStore {
  /** The body must be read or destroyed; until then it occupies a connection or an open file. */
  get(uri: string, options?: GetOptions): Promise<StoredObject>;
  /** Atomic: readers see the old object or the complete new one. Holds few parts in memory, whatever the size. */
  put(uri: string, body: ObjectBody, options?: PutOptions): Promise<StoredPut>;
  /**
   * All objects whose keys start with the given one; no folders. In the byte order of their keys, except that some
   * S3-compatible stores sort folder by folder.
   */
  list(prefixUri: string, options?: ListOptions): AsyncIterable<ObjectEntry>;
  /**
   * One page of such a listing. With a delimiter, the keys that have a `/` after the prefix are replaced by what they
   * have in common up to it. Reads only as much as the store needs to find the page.
   */
  page(prefixUri: string, options: PageOptions): Promise<ObjectPage>;
  /**
   * The direct entries of a folder, in no order. Empty if the folder does not exist, because in S3 a folder exists only
   * while it has entries.
   */
  folder(uri: string, options?: FolderOptions): AsyncIterable<FolderEntry>;
  /** Succeeds if the object does not exist. */
  delete(uri: string, options?: CallOptions): Promise<void>;
  stat(uri: string, options?: CallOptions): Promise<ObjectStat>;
  /** Removes a folder that is empty, and leaves any other. S3 has no empty folders. */
  removeFolder(uri: string, options?: CallOptions): Promise<"removed" | "left" | "missing">;
  /** Removes what a killed process has left of a `put`. Succeeds if there is nothing. */
  discard(unfinished: UnfinishedPut, options?: CallOptions): Promise<void>;
  /** Closes idle and pending connections now, and the others when their bodies end. */
  close(): Promise<void>;
}

/** A file is read from start to end and stays open; this is cheaper than a stream. */
export type ObjectBody = Readable | Buffer | FileHandle;

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface FolderOptions extends CallOptions {
  /** Also if the store needs a separate request for each entry, which takes much longer than listing names. */
  withTimes?: boolean | undefined;
  /** Shows everything else that can be deleted as a file: unfinished files, pipes and sockets of a folder on this machine. */
  withAll?: boolean | undefined;
}

/** Without a length, the range extends to the end. */
export interface ByteRange {
  offset: number;
  length?: number | undefined;
}

export interface GetOptions extends CallOptions {
  range?: ByteRange | undefined;
}

export interface PutOptions extends CallOptions {
  contentType?: string | undefined;
  /** The chunks of the body are used only here, so their memory can be freed as soon as they are written. */
  ownsChunks?: boolean | undefined;
  /** The number of bytes, if it is known: a large object is then uploaded in parts of the right size. */
  bytes?: number | undefined;
  /**
   * Replaces the object only if it has this ETag; `*`: if it exists. Fails with `changed`, or with `unconditional` if the
   * store cannot do this.
   */
  ifMatch?: string | undefined;
  /** Called with what a process that is killed during the call would leave in the store. */
  onUnfinished?: ((unfinished: UnfinishedPut) => Promise<void>) | undefined;
}

/** What a killed process has left of a `put`. */
export interface UnfinishedPut {
  /** The object that would have been written. */
  readonly uri: string;
  /** The id of an upload in parts, or the name of a temporary file. */
  readonly id: string;
}

export interface StoredPut {
  size: number;
  /** Null: the store has none, or only `stat` knows it. */
  etag: string | null;
  /** Null: only `stat` knows it. */
  modifiedAt: Date | null;
}

export interface PageOptions extends CallOptions {
  delimiter?: "/" | undefined;
  /** Only keys and prefixes after this one. */
  after?: string | undefined;
  /** The largest number of entries and prefixes together. */
  limit: number;
}

export interface ObjectPage {
  entries: ObjectEntry[];
  /** Keys up to the delimiter, with it. Stores with folders show empty ones as well. */
  prefixes: string[];
  hasMore: boolean;
}

export interface ListOptions extends CallOptions {
  /** Largest number of entries. */
  maxKeys?: number | undefined;
  /** Lists only keys after this one, to continue an earlier listing. */
  after?: string | undefined;
}

export interface ObjectStat {
  /** Size of the whole object in bytes. */
  size: number;
  modifiedAt: Date;
  /** Null if the store has none. */
  etag: string | null;
}

export interface ObjectEntry extends ObjectStat {
  uri: string;
  key: string;
}

export interface FolderEntry {
  /** A `link` is a symbolic link, which is never followed. */
  kind: "file" | "folder" | "link";
  /** Without slashes. */
  name: string;
  uri: string;
  /** Null if the store does not list it with the name. */
  modifiedAt: Date | null;
}

export interface StoredObject extends ObjectStat {
  body: Readable;
}

/** Reads an object as text without a byte order mark. Stops reading as soon as it exceeds the limit. */
export async function getText(
  store: ObjectStore,
  uri: string,
  limitBytes: number,
  options: CallOptions = {},
): Promise<string> {
  const { body, size } = await store.get(uri, options);
  const chunks: Buffer[] = [];
  let bytes = size;
  if (size <= limitBytes) {
    bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > limitBytes) break; // the reported size was wrong
    }
  }
  body.destroy();
  if (bytes > limitBytes) throw new ObjectStoreError("too-large", `${uri}: larger than ${limitBytes} bytes`);
  return decode(uri, Buffer.concat(chunks));
}

function decode(uri: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ObjectStoreError("not-text", `${uri}: not UTF-8 text`, { cause: error });
  }
}
