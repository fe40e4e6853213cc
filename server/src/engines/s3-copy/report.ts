/**
 * The process reports to the server on its standard output, one JSON object per line. Progress is written once a second and
 * at the end, so that its last line is found near the end of the output.
 */
import { isRecord } from "../../lib/is-record.ts";

export type ReportLine =
  | { readonly copied: readonly [source: string, destination: string, bytes: number] }
  | { readonly progress: CopyProgress }
  | { readonly end: CopyEnd };

/** Includes the files and bytes that earlier attempts have copied. */
export interface CopyProgress {
  /** Never falls. */
  readonly percent: number;
  readonly files: number;
  /** The number of files known so far; it grows while the listing runs. */
  readonly totalFiles: number;
  readonly bytes: number;
}

export interface CopyEnd {
  readonly files: number;
  readonly bytes: number;
  /** Files that earlier attempts have copied, which are not among `files`. */
  readonly earlierFiles: number;
  /** Requests that were repeated. */
  readonly retries: number;
  /** One line for the user; null: the copy succeeded. */
  readonly failure: string | null;
  /** The arguments are wrong, so that another attempt would fail in the same way. */
  readonly isRefused: boolean;
  /** S3 has accepted the account's own keys. */
  readonly usedAccountKeys: boolean;
}

export function formatReportLine(line: ReportLine): string {
  return `${JSON.stringify(line)}\n`;
}

/** Undefined: not a line of a report, for example one that is cut off. */
export function parseReportLine(text: string): ReportLine | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return isRecord(line) ? (line as unknown as ReportLine) : undefined; // only our own process writes to its output
  } catch {
    return undefined;
  }
}
