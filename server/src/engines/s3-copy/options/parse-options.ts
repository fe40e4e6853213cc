import { parseObjectUri } from "../../../object-store/object-uri.ts";
import { oldSchemeOf, readAddress, readEndpoint } from "./copy-addresses.ts";
import { CopyArgumentError } from "./copy-argument-error.ts";
import type { CopyOptions, OutputCodec } from "./copy-options.ts";
import { readEncryption } from "./encryption-options.ts";
import { readProperties } from "./hadoop-properties.ts";
import { readBoolean, readOptionWords, type GivenOptions, type ValueOption } from "./option-words.ts";

const MAX_INT = 2_147_483_647;
const DEFAULT_CHUNK_MIB = 16;
const DEFAULT_MANIFEST = "manifest.gz";

const codecs: ReadonlyMap<string, OutputCodec> = new Map<string, OutputCodec>([
  ["gzip", "gzip"],
  ["gz", "gzip"],
  ["lzo", "lzo"],
  ["snappy", "snappy"],
  ["none", "none"],
]);

/**
 * Reads the arguments of a copy (§4.4). Hadoop's generic options are allowed among them; those without an effect are
 * named in `notes`. Throws a `CopyArgumentError` for anything else. `location`: of the account's storage.
 */
export function parseCopyOptions(words: readonly string[], location: string): CopyOptions {
  const given = readOptionWords(words);
  const readUri = (name: string, text: string): string => readAddress(name, text, location);
  const { credentials, parallelism, notes } = readProperties(given.properties);
  const { encryption, note } = readEncryption(given);
  const options = {
    src: optional(given, "src", readUri),
    srcScheme: oldSchemeOf(given.values.get("src") ?? ""),
    dest: readDestination(given, readUri),
    srcPrefixesFile: optional(given, "srcPrefixesFile", readUri),
    srcPattern: optional(given, "srcPattern", readNonEmpty),
    groupBy: optional(given, "groupBy", readNonEmpty),
    targetSizeMiB: optional(given, "targetSize", countFrom(1)),
    outputCodec: optional(given, "outputCodec", readCodec),
    encryption,
    storageClass: optional(given, "storageClass", readStorageClass),
    deleteOnSuccess: given.flags.has("deleteOnSuccess"),
    disableMultipartUpload: given.flags.has("disableMultipartUpload"),
    chunkSizeMiB: optional(given, "multipartUploadChunkSize", countFrom(5, 5120)) ?? DEFAULT_CHUNK_MIB,
    filesPerMapper: optional(given, "filesPerMapper", countFrom(1)),
    startingIndex: readNumbering(given),
    outputManifest: readOutputManifest(given),
    previousManifest: optional(given, "previousManifest", readUri),
    requirePreviousManifest: optional(given, "requirePreviousManifest", readBoolean) ?? true,
    copyFromManifest: given.flags.has("copyFromManifest"),
    appendToLastFile: given.flags.has("appendToLastFile"),
    s3Endpoint: optional(given, "s3Endpoint", readEndpoint),
    srcS3Endpoint: optional(given, "srcS3Endpoint", readEndpoint),
    tmpDir: optional(given, "tmpDir", readUri),
    credentials,
    parallelism,
  };
  checkTogether(options);
  const ignored = [...new Set(given.ignored)].map((name) => `${name} has no effect.`);
  const appendToLastFile = options.appendToLastFile && options.groupBy !== null;
  return { ...options, appendToLastFile, notes: [...ignored, ...notes, ...note, ...notesTogether(given, options)] };
}

type Unnoted = Omit<CopyOptions, "notes">;

/** Rules about several options. */
function checkTogether(options: Unnoted): void {
  const { src, dest, srcPrefixesFile, copyFromManifest, previousManifest } = options;
  if (options.srcPattern !== null && options.groupBy !== null) {
    throw new CopyArgumentError(
      "--srcPattern and --groupBy cannot be combined: --groupBy copies only what it matches.",
    );
  }
  if (copyFromManifest && previousManifest === null) {
    throw new CopyArgumentError("--copyFromManifest needs --previousManifest, the manifest that lists the files.");
  }
  if (src === null && srcPrefixesFile === null && !copyFromManifest) {
    throw new CopyArgumentError("--src is missing: the folder or file to copy.");
  }
  if (options.appendToLastFile && parseObjectUri(dest).scheme === "s3") {
    throw new CopyArgumentError("--appendToLastFile needs a --dest on HDFS or of files: objects of S3 cannot grow.");
  }
}

function notesTogether(given: GivenOptions, options: Unnoted): string[] {
  const { groupBy, targetSizeMiB, startingIndex, encryption, storageClass, dest } = options;
  const isToS3 = parseObjectUri(dest).scheme === "s3";
  const rules: [boolean, string][] = [
    [targetSizeMiB !== null && groupBy === null, "--targetSize has no effect without --groupBy."],
    [options.appendToLastFile && groupBy === null, "--appendToLastFile has no effect without --groupBy."],
    [
      given.values.has("startingIndex") && startingIndex === null,
      "--startingIndex has no effect without --numberFiles.",
    ],
    [storageClass !== null && !isToS3, "--storageClass has no effect: --dest is not in S3."],
    [
      encryption !== null && encryption.algorithm !== "SSE-C" && !isToS3,
      "--s3ServerSideEncryption has no effect: --dest is not in S3.",
    ],
  ];
  return rules.filter(([applies]) => applies).map(([, text]) => text);
}

function optional<T>(given: GivenOptions, name: ValueOption, read: (name: string, text: string) => T): T | null {
  const text = given.values.get(name);
  return text === undefined ? null : read(name, text);
}

function readDestination(given: GivenOptions, readUri: (name: string, text: string) => string): string {
  const text = given.values.get("dest");
  if (text === undefined) throw new CopyArgumentError("--dest is missing: the folder to copy to.");
  return readUri("dest", text);
}

function readNonEmpty(name: string, text: string): string {
  if (text === "") throw new CopyArgumentError(`--${name} must not be empty.`);
  return text;
}

function countFrom(least: number, most = MAX_INT): (name: string, text: string) => number {
  return (name, text) => {
    const count = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
    if (count >= least && count <= most) return count;
    throw new CopyArgumentError(`--${name} must be an integer from ${least} to ${most}.`);
  };
}

function readCodec(name: string, text: string): OutputCodec {
  const codec = codecs.get(text.toLowerCase());
  if (codec === undefined) throw new CopyArgumentError(`--${name} must be gzip, gz, lzo, snappy or none.`);
  return codec;
}

/** Stores that are compatible with S3 have classes of their own. The value is sent in a header. */
function readStorageClass(name: string, text: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(text)) return text;
  throw new CopyArgumentError(`--${name} must be a storage class such as STANDARD or STANDARD_IA.`);
}

function readNumbering(given: GivenOptions): number | null {
  const start = optional(given, "startingIndex", countFrom(0)) ?? 0;
  return given.flags.has("numberFiles") ? start : null;
}

/** A name below the destination. Some scripts write the full address of the file instead. */
function readOutputManifest(given: GivenOptions): string | null {
  const text = given.outputManifest;
  if (text === null || text === "") return text === null ? null : DEFAULT_MANIFEST;
  const folder = `${(given.values.get("dest") ?? "").replace(/\/+$/, "")}/`;
  const name = text.startsWith(folder) ? text.slice(folder.length) : text;
  const isName = name.isWellFormed() && !/[\p{Cc}:]/u.test(name) && Buffer.byteLength(name) <= 255;
  if (isName && name.split("/").every((segment) => !["", ".", ".."].includes(segment))) return name;
  throw new CopyArgumentError("--outputManifest must be a file name below --dest, such as manifest.gz.");
}
