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
  /** Reads them from the plan's file if there are several, so that a plan of any size needs little memory. */
  sources(): AsyncIterable<SourceFile>;
  /** How the contents change. */
  readonly recoding: Recoding | null;
  /** The file that an earlier attempt has begun to append to (`--appendToLastFile`), as it was before. */
  readonly original?: OriginalFile;
}

/** Of size 0 if there was none. */
export interface OriginalFile {
  readonly size: number;
  readonly modifiedMs: number;
}

/** Null: decoded contents, not compressed. */
export interface Recoding {
  readonly to: Codec | null;
}
