import { formatObjectUri, parseObjectUri } from "../../object-store/object-uri.ts";
import { CopyError } from "./copy-error.ts";
import { noteDropped } from "./dropped-memory.ts";
import { CopyArgumentError } from "./options/copy-argument-error.ts";
import type { CopyOptions } from "./options/copy-options.ts";
import type { SourceFile } from "./plan/planned-output.ts";
import { readAddress } from "./options/copy-addresses.ts";
import { nameBelow } from "./storage/storage.ts";
import type { Storages } from "./storage/storages.ts";

const PREFIXES_LIMIT_BYTES = 16 * 1024 * 1024;
/**
 * The bytes that each listed file counts as dropped, so that garbage is collected after every 12,000 files. So many files
 * leave about 10 MiB of garbage in the listing and the plan.
 */
const LISTED_FILE_BYTES = 4096;

/** The files of the sources in pages. Fails if a source does not exist. */
export async function* listSources(options: CopyOptions, storages: Storages): AsyncGenerator<readonly SourceFile[]> {
  const { src, srcPrefixesFile } = options;
  if (srcPrefixesFile !== null) {
    yield* listPrefixes(srcPrefixesFile, options, storages);
    return;
  }
  if (src === null) throw new CopyError("--src is missing: it names the folder or file to copy");
  yield* listSource(src, options, storages);
}

/**
 * A source below the destination could be replaced by an output before it is copied, or deleted as a source after it was
 * copied onto itself.
 */
export function checkOutside(uri: string, options: CopyOptions, storages: Storages): void {
  if (!storages.isSameService || !isBelow(uri, options)) return;
  throw new CopyArgumentError(`${uri}: a source must not be --dest or lie below it; name another --dest.`);
}

/**
 * Fails if the endpoints of both sides are names of the same store, for a source that lies around the destination or below
 * it. Then the copy would find its own outputs, or delete what it has copied onto itself.
 */
export async function checkAlias({ uri, size, etag, modifiedMs }: SourceFile, storages: Storages): Promise<void> {
  const there = await storages.to.find(uri);
  if (there?.size !== size || there.etag !== etag || !isSameSecond(there.modifiedMs, modifiedMs)) return;
  throw new CopyArgumentError(
    `${uri}: the endpoints of the source and of the destination are the same store; use one of them for both.`,
  );
}

/** Listings may have milliseconds; headers have none. */
function isSameSecond(oneMs: number, otherMs: number): boolean {
  return Math.floor(oneMs / 1000) === Math.floor(otherMs / 1000);
}

/** Whether the source would lie at the destination or below it if both endpoints were the same store. */
export function isBelow(uri: string, { dest }: CopyOptions): boolean {
  return folderOf(uri).startsWith(folderOf(dest));
}

/** The host of HDFS is always the account's, whatever the address says. */
function locationOf(uri: string): string {
  const { scheme, bucket, key } = parseObjectUri(uri);
  return formatObjectUri({ scheme, bucket: scheme === "hdfs" ? "" : bucket, key });
}

/** The prefix of all URIs in this folder. */
function folderOf(uri: string): string {
  return locationOf(uri).replace(/\/?$/, "/");
}

/**
 * Files below the destination are not sources: a copy into a folder of its own source would find its own outputs and never
 * end.
 */
async function* listSource(
  uri: string,
  options: CopyOptions,
  storages: Storages,
): AsyncGenerator<readonly SourceFile[]> {
  const storage = storages.ofSource(uri);
  checkOutside(uri, options, storages);
  const folder = folderOf(options.dest);
  const isAround = storages.isSameService && folder.startsWith(folderOf(uri));
  let mayBeAlias = storages.mayBeSameService && (folder.startsWith(folderOf(uri)) || isBelow(uri, options));
  let isMissing = true;
  for await (const page of storage.list(uri)) {
    isMissing = false;
    const [first] = page;
    if (mayBeAlias && first !== undefined) {
      await checkAlias(first, storages);
      mayBeAlias = false;
    }
    yield isAround ? page.filter((found) => !locationOf(found.uri).startsWith(folder)) : page;
    noteDropped(page.length * LISTED_FILE_BYTES);
  }
  if (isMissing) throw new CopyError(`${uri}: the source does not exist`);
}

/** One URI per line, each below `src` if that is given; names stay relative to `src`. */
async function* listPrefixes(
  file: string,
  options: CopyOptions,
  storages: Storages,
): AsyncGenerator<readonly SourceFile[]> {
  const { src } = options;
  for (const prefix of await readPrefixes(file, storages)) {
    if (src !== null && prefix !== src && nameBelow(src, prefix) === undefined) {
      throw new CopyError(`${prefix}: a prefix of --srcPrefixesFile must lie below --src`);
    }
    for await (const page of listSource(prefix, options, storages)) {
      yield src === null ? page : page.map((found) => ({ ...found, name: nameBelow(src, found.uri) ?? found.name }));
    }
  }
}

async function readPrefixes(file: string, storages: Storages): Promise<string[]> {
  const storage = storages.at(file);
  const found = await storage.find(file);
  if (found === undefined) throw new CopyError(`${file}: the file of --srcPrefixesFile does not exist`);
  if (found.size > PREFIXES_LIMIT_BYTES) throw new CopyError(`${file}: more than 16 MiB of prefixes`);
  const source = { ...found, uri: file, name: "prefixes" };
  const { bytes } = await storage.read(source, { offset: 0, length: found.size });
  return bytes
    .toString("utf8")
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => readAddress("srcPrefixesFile", line, storages.location));
}
