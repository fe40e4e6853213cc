import type { ObjectScheme } from "../../../object-store/object-uri.ts";
import type { ObjectAttributes } from "../../../object-store/s3/s3-operations.ts";
import type { SourceFile } from "../plan/planned-output.ts";

/** One side of a copy: S3 (`s3-storage.ts`), HDFS (`hdfs-storage.ts`) or files (`file-storage.ts`). */
export interface Storage {
  readonly scheme: ObjectScheme;
  /** All files below a folder, or the one file that the URI names, in pages and in no order. No page: it does not exist. */
  list(uri: string): AsyncIterable<readonly SourceFile[]>;
  /** Undefined: there is no such file. */
  find(uri: string): Promise<FoundFile | undefined>;
  /**
   * Fails if the source has changed since it was listed. A whole object is checked against its checksum. `into`: memory of
   * the range's length, which the storage may use for the returned bytes.
   */
  read(source: SourceFile, range: Range, into?: Buffer): Promise<ReadBytes>;
  /** The CRC-32 of the contents, for sources that are read in ranges. Null, or no method: the store has none. */
  crc32Of?(source: SourceFile): Promise<number | null>;
  /** Properties that a copy of this file keeps. */
  attributesOf(source: SourceFile): Promise<ObjectAttributes>;
  /** Writes a whole file. When it resolves, the store has the file and has verified it. */
  write(uri: string, bytes: Buffer, attributes: ObjectAttributes): Promise<void>;
  /** Begins a file of several parts. */
  create(uri: string, plan: OutputPlan): Promise<OutputWriter>;
  /** Deletes sources that have not changed since they were copied. Returns those that may still exist. */
  remove(sources: readonly RemovableFile[]): Promise<readonly KeptSource[]>;
  /** Removes an output that an earlier attempt of the same copy wrote. Succeeds if there is none. */
  removeOutput(uri: string): Promise<void>;
  /** Removes what a killed process has left of an output. */
  removeUnfinished(uri: string): Promise<void>;
  /** Removes a temporary file, finished or not. Works even after the copy was told to end. */
  removeTemporary(uri: string): Promise<void>;
  /** Resolves when all files that were written are durable. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** What a transfer needs of the storage of its sources. */
export type SourceReader = Pick<Storage, "read" | "crc32Of">;

export interface Range {
  readonly offset: number;
  readonly length: number;
}

export interface ReadBytes {
  readonly bytes: Buffer;
  readonly attributes: ObjectAttributes;
}

export type FoundFile = Pick<SourceFile, "size" | "modifiedMs" | "etag" | "storageClass">;
export type RemovableFile = Pick<SourceFile, "uri" | "size" | "modifiedMs" | "etag">;

/** A source that was not deleted, or may not have been. */
export interface KeptSource {
  readonly uri: string;
  /** `unknown`: the store did not answer, neither to the request nor to the question whether the source still exists. */
  readonly why: "changed" | "refused" | "unknown";
  /** The error of the store; empty for changed sources. */
  readonly detail: string;
}

export interface OutputPlan {
  /** Undefined: the size is known only at the end. */
  readonly bytes: number | undefined;
  readonly attributes: ObjectAttributes;
}

/** Parts may be written at the same time and in any order. */
export interface OutputWriter {
  write(part: OutputPart): Promise<void>;
  /** Resolves when the file is complete and verified. */
  finish(totalBytes: number): Promise<void>;
  /** Leaves nothing behind. */
  discard(): Promise<void>;
  /** A server-side copy of a part. Undefined: the store cannot. */
  copyPart?(part: Omit<OutputPart, "bytes">, source: SourceFile, range: Range): Promise<void>;
}

export interface OutputPart {
  /** Counts from 1. */
  readonly number: number;
  /** The position in the file. */
  readonly offset: number;
  /** The contents in pieces. */
  readonly bytes: readonly Buffer[];
}

/** The folder for outputs that do not fit into memory and must be sent to S3 in one request (`--tmpDir`). */
export interface SpoolFolder {
  readonly storage: Storage;
  /** Resolves to the URI of a new temporary file, once its removal is certain even if this process is killed. */
  newFile(): Promise<string>;
  /** Call it when the file was removed. */
  noteRemoved(uri: string): void;
}

export const NO_ATTRIBUTES: ObjectAttributes = {};

/** The path of a file below a folder; undefined if it is not below. */
export function nameBelow(folderUri: string, uri: string): string | undefined {
  const base = folderUri.endsWith("/") ? folderUri : `${folderUri}/`;
  return uri.startsWith(base) && uri.length > base.length ? uri.slice(base.length) : undefined;
}

export function lastName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
