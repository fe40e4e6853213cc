import { codecOf, extensionOf, isDecoded, notDecoded, type KnownCodec } from "../codecs/codec-table.ts";
import type { OutputCodec } from "../options/copy-options.ts";
import { CopyError } from "../copy-error.ts";
import type { Recoding, SourceFile } from "./planned-output.ts";

export type DestinationScheme = "s3" | "hdfs" | "file";

const MAX_SEGMENT_BYTES = 255;

export function folderOf(name: string): string {
  return name.slice(0, name.lastIndexOf("/") + 1);
}

/** The name without the extension of its codec, and the extension. */
function splitCodecExtension(name: string): { stem: string; extension: string } {
  const codec = codecOf(name);
  const extension = codec === null ? "" : extensionOf(codec);
  return { stem: name.slice(0, name.length - extension.length), extension };
}

/** `number` is put before the extension. */
export function outputName(name: string, outputCodec: OutputCodec | null, number = ""): string {
  const { stem, extension } = splitCodecExtension(name);
  if (outputCodec === null) return `${stem}${number}${extension}`;
  return `${stem}${number}${outputCodec === "none" ? "" : extensionOf(outputCodec)}`;
}

/**
 * Null: the bytes stay as they are, because all sources have the codec already and its files can be concatenated. Several
 * lzop files are encoded again, because some readers stop after the first one.
 */
export function recodingOf(
  sources: Iterable<KnownCodec | null>,
  count: number,
  outputCodec: OutputCodec | null,
): Recoding | null {
  if (outputCodec === null) return null;
  const to = outputCodec === "none" ? null : outputCodec;
  const isSame = [...sources].every((codec) => codec === to) && (to !== "lzo" || count === 1);
  return isSame ? null : { to };
}

/** Throws if an output codec is asked for and the source's own compression cannot be decoded. */
export function checkDecodable({ uri }: SourceFile, codec: KnownCodec | null, outputCodec: OutputCodec | null): void {
  if (outputCodec === null || codec === null || isDecoded(codec)) return;
  throw new CopyError(`${quoted(uri)}: ${notDecoded(codec)}, or exclude it by a pattern.`);
}

/** Most names need only this test. */
const INDEXED = /\.(?:parq|orc)/i;

/** Formats with an index at the end of the file, which readers of a concatenation would miss. */
export function isIndexedFormat(name: string): boolean {
  return INDEXED.test(name) && /\.(?:parquet|parq|orc)$/i.test(splitCodecExtension(name).stem);
}

/** `<n><name>`: the number is part of the file's name, not of the folder's. */
export function numberedName(name: string, number: number): string {
  const folder = folderOf(name);
  return `${folder}${number}${name.slice(folder.length)}`;
}

/** Throws if the destination cannot hold a file of this name. */
export function checkName(name: string, scheme: DestinationScheme, source: SourceFile): void {
  const rule = scheme === "s3" ? undefined : brokenRule(name, scheme);
  if (rule === undefined) return;
  const where = scheme === "hdfs" ? "HDFS" : "a folder";
  throw new CopyError(
    `${quoted(source.uri)} cannot be copied to ${where}: its path ${rule}. Rename it, or exclude it.`,
  );
}

/** Most names need only the first test. */
const PLAIN = /^[\w=%+,@ -]+(?:[./][\w=%+,@ -]+)*$/;

function brokenRule(name: string, scheme: DestinationScheme): string | undefined {
  if (name.length <= MAX_SEGMENT_BYTES && PLAIN.test(name)) return undefined;
  const segments = name.split("/");
  if (segments.includes("")) return "has an empty part (//, or a / at its start or end)";
  if (segments.some((segment) => segment === "." || segment === "..")) return "has a part . or ..";
  if (name.includes("\0")) return "contains the character U+0000";
  if (scheme === "hdfs" && name.includes(":")) return "contains a colon";
  const isLong = segments.some((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES);
  return isLong ? `has a part of more than ${MAX_SEGMENT_BYTES} bytes` : undefined;
}

/** For messages, which are one line. */
export function quoted(text: string): string {
  return /[\p{Cc}\u2028\u2029]/u.test(text) ? JSON.stringify(text) : text;
}

/** Not a regular expression: those need quadratic time for long runs of slashes. */
export function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (path.charAt(end - 1) === "/") end -= 1;
  return path.slice(0, end);
}
