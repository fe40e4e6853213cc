import { formatObjectUri, parseObjectUri, type ObjectUri } from "../../../object-store/object-uri.ts";
import { resolveStorageUri } from "../../../object-store/storage-uri.ts";
import { CopyError } from "../copy-error.ts";
import type { ManifestEntry } from "../manifest/manifest-entry.ts";
import { withoutLastSlashes } from "./output-names.ts";
import type { SourceFile } from "./planned-output.ts";

/**
 * The files that a manifest lists, in pages (§4.4 copyFromManifest). Their time and version are unknown. `location`: of
 * the account's storage.
 */
export async function* manifestSources(
  entries: AsyncIterable<ManifestEntry>,
  location: string,
  pageSize = 1000,
): AsyncGenerator<readonly SourceFile[]> {
  let page: SourceFile[] = [];
  for await (const entry of entries) {
    page.push(sourceOf(entry, location));
    if (page.length < pageSize) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/** Hadoop writes `hdfs:/path` for a path of the default file system. */
function readUri(uri: string, location: string): ObjectUri {
  const parsed = parseObjectUri(resolveStorageUri(uri, location).replace(/^hdfs:\/(?!\/)/, "hdfs:///"));
  if (parsed.scheme === "s3" && parsed.bucket.includes("_")) {
    throw new Error("a bucket with an underscore in its name is not supported");
  }
  return parsed;
}

/** The start of all URIs below a folder. */
function folderOf(uri: ObjectUri): string {
  const key = withoutLastSlashes(uri.key);
  return formatObjectUri({ ...uri, key: key === "" && uri.scheme === "s3" ? "" : `${key}/` });
}

/** The file that an entry names, relative to its `srcDir`. Throws if it is not below that, or not a valid address. */
function sourceOf({ path, srcDir, size }: ManifestEntry, location: string): SourceFile {
  let uri: string;
  let folder: string;
  try {
    [uri, folder] = [formatObjectUri(readUri(path, location)), folderOf(readUri(srcDir, location))];
  } catch (error) {
    throw new CopyError(`The manifest has a path or srcDir that is not an address of a file: ${messageOf(error)}.`);
  }
  if (!uri.startsWith(folder) || uri.length === folder.length) {
    throw new CopyError(`The manifest has a path that is not below its srcDir: ${JSON.stringify(uri)}.`);
  }
  return { uri, name: uri.slice(folder.length), size, modifiedMs: 0, etag: null, storageClass: null };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
