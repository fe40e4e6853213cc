import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";

/**
 * One interface over the places objects are kept: S3 (`s3-store.ts`), HDFS (`hdfs-store.ts`) and folders of this machine
 * (`file-store.ts`). A leaf library: whose bucket it is, and which credentials open it, the caller knows. Objects are
 * named by URIs whose keys are taken literally, never percent-decoded; every failure is an `ObjectStoreError`, except
 * that of an aborted signal, which is the signal's own reason, and that of a body given to `put`.
 */
export interface ObjectStore {
  /** The body must be read or destroyed; until then it holds a connection or a file. */
  get(uri: string, options?: GetOptions): Promise<StoredObject>;
  /** All or nothing: a reader sees the old object or the whole new one. Holds few parts in memory, whatever the size. */
  put(uri: string, body: ObjectBody, options?: PutOptions): Promise<void>;
  /**
   * Every object whose key begins with the given one; no folders, only objects. S3, HDFS and files come in the byte
   * order of their keys; some stores that speak S3 sort folder by folder.
   */
  list(prefixUri: string, options?: ListOptions): AsyncIterable<ObjectEntry>;
  /**
   * What is directly in a folder, in no order. None where there is no such folder: a folder of S3 is there as long as
   * something is in it.
   */
  folder(uri: string, options?: FolderOptions): AsyncIterable<FolderEntry>;
  /** What is not there is deleted already. */
  delete(uri: string, options?: CallOptions): Promise<void>;
  stat(uri: string, options?: CallOptions): Promise<ObjectStat>;
  /** Ends connections that are idle or being made, and those in use when their bodies end. */
  close(): Promise<void>;
}

/** A file is read from its beginning to its end and stays open; it costs less than a stream of it. */
export type ObjectBody = Readable | Buffer | FileHandle;

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface FolderOptions extends CallOptions {
  /** Also where each has to be asked for, which takes much longer than the names. */
  withTimes?: boolean | undefined;
}

/** Without a length, to the end. */
export interface ByteRange {
  offset: number;
  length?: number | undefined;
}

export interface GetOptions extends CallOptions {
  range?: ByteRange | undefined;
}

export interface PutOptions extends CallOptions {
  contentType?: string | undefined;
}

export interface ListOptions extends CallOptions {
  /** Ends after so many entries. */
  maxKeys?: number | undefined;
  /** Goes on behind this key: the last one an earlier listing gave. */
  after?: string | undefined;
}

export interface ObjectStat {
  /** Of the whole object, in bytes. */
  size: number;
  modifiedAt: Date;
  /** Null where the store has none. */
  etag: string | null;
}

export interface ObjectEntry extends ObjectStat {
  uri: string;
  key: string;
}

export interface FolderEntry {
  /** A link is a symbolic one: it is never followed. */
  kind: "file" | "folder" | "link";
  /** Without slashes. */
  name: string;
  uri: string;
  /** Null where the store does not tell it along with the name. */
  modifiedAt: Date | null;
}

export interface StoredObject extends ObjectStat {
  body: Readable;
}
