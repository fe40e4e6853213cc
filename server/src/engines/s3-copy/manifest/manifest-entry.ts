import { isRecord } from "../../../lib/is-record.ts";

/** A file that a copy wrote (§4.4 outputManifest). */
export interface ManifestEntry {
  readonly path: string;
  /** The path below `srcDir`. */
  readonly baseName: string;
  readonly srcDir: string;
  readonly size: number;
}

export function formatEntry({ path, baseName, srcDir, size }: ManifestEntry): string {
  return JSON.stringify({ path, baseName, srcDir, size });
}

/** Returns a text if the line is not an entry: the rule that it breaks ("must …"). */
export function parseEntry(line: string): ManifestEntry | string {
  let entry: unknown;
  try {
    entry = JSON.parse(line);
  } catch {
    return "must be a JSON object";
  }
  if (!isRecord(entry)) return "must be a JSON object";
  const { path, baseName, srcDir, size } = entry;
  if (!isText(path) || !isText(baseName) || !isText(srcDir)) return "must have the texts path, baseName and srcDir";
  if (!Number.isSafeInteger(size) || Number(size) < 0) return "must have a size in bytes";
  return { path, baseName, srcDir, size: Number(size) };
}

/** U+0000 separates fields in plans. */
function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.isWellFormed() && !value.includes("\0");
}
