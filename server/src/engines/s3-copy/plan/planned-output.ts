import type { Codec } from "../codecs/codec-table.ts";

/** A file that is copied. */
export interface SourceFile {
  readonly uri: string;
  /** The path below the source folder, without a leading slash. Never empty. */
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
  readonly etag: string | null;
  /** Null: the store has none, or its default. */
  readonly storageClass: string | null;
}

/** An output file and the files whose contents it gets, in this order. */
export interface PlannedOutput {
  /** The path below the destination folder, without a leading slash. */
  readonly name: string;
  /** The sum of the sources' sizes. */
  readonly bytes: number;
  readonly sourceCount: number;
  /** The only source; null if there are several. */
  readonly single: SourceFile | null;
  /** Several sources are read from the plan's file, so that a plan of any size needs little memory. */
  sources(): AsyncIterable<SourceFile>;
  /** How the compression changes; null: the bytes stay as they are. */
  readonly recoding: Recoding | null;
  /** The file that an earlier attempt has begun to append to (`--appendToLastFile`), as it was before. */
  readonly original?: OriginalFile;
}

/** A file before an append; of size 0 if there was none. */
export interface OriginalFile {
  readonly size: number;
  readonly modifiedMs: number;
}

/** A change of the compression. */
export interface Recoding {
  /** Null: the contents are decoded and not compressed. */
  readonly to: Codec | null;
}
