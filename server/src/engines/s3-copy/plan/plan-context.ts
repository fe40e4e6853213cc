import type { ManifestEntry } from "../manifest/manifest-entry.ts";
import type { CopyOptions } from "../options/copy-options.ts";
import type { DestinationScheme } from "./output-names.ts";
import type { EarlierWork } from "./skip-done.ts";

export type PlanOptions = Pick<
  CopyOptions,
  "srcPattern" | "groupBy" | "targetSizeMiB" | "outputCodec" | "startingIndex" | "srcPrefixesFile" | "copyFromManifest"
>;

export interface PlanContext {
  /** The folder for the files of the plan. */
  readonly scratchFolder: string;
  readonly destinationScheme: DestinationScheme;
  /** The largest size of an output; null: any size. */
  readonly largestBytes?: number | null;
  /** The scheme of the URIs that patterns match, if it is another one than the sources have. */
  readonly srcScheme?: string | null;
  /** The entries of `previousManifest`, unless they are the sources. */
  readonly previousManifest?: AsyncIterable<ManifestEntry> | undefined;
  /** Outputs that are done with the same sources, and at the destination, are not planned again. */
  readonly earlier?: EarlierWork | undefined;
  /** No output may have this name. */
  readonly manifestName?: string | null;
  readonly signal?: AbortSignal | undefined;
}

/** Grows while the sources are listed. */
export interface PlanSummary {
  /** Without markers of folders. */
  listedFiles: number;
  /** Files that the pattern selects; all if there is none. */
  matchedFiles: number;
  /** Matching files that the previous manifest lists. */
  skippedFiles: number;
  /** Outputs of earlier attempts that are not copied again, and their sources. */
  doneOutputs: number;
  doneFiles: number;
  doneBytes: number;
}
