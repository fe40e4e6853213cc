import { isIPv4 } from "node:net";
import { ObjectStoreError } from "./object-store-error.ts";

export type ObjectScheme = "s3" | "file" | "hdfs";

/**
 * | Scheme | Bucket | Key |
 * |---|---|---|
 * | s3 (s3a, s3n) | the bucket | without a leading slash; empty for the whole bucket |
 * | hdfs | host and port, or empty | the absolute path |
 * | file | empty | the absolute path |
 */
export interface ObjectUri {
  scheme: ObjectScheme;
  bucket: string;
  key: string;
}

const schemes: ReadonlyMap<string, ObjectScheme> = new Map([
  ["s3", "s3"],
  ["s3a", "s3"],
  ["s3n", "s3"],
  ["hdfs", "hdfs"],
  ["file", "file"],
]);
const hdfsAuthority = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,252})?(:[0-9]{1,5})?)?$/;
const maxKeyBytes = { s3: 1024, hdfs: 8000, file: 4095 } satisfies Record<ObjectScheme, number>;

/**
 * Keys are literal, as in Hadoop and the S3 tools: `%20`, `?` and `#` have no special meaning. Error messages never quote
 * the URI, because old ones contain credentials before an `@`.
 */
export function parseObjectUri(text: string): ObjectUri {
  const [, schemeText = "", rest = ""] = /^([A-Za-z0-9]+):(.*)$/s.exec(text) ?? [];
  const scheme = schemes.get(schemeText.toLowerCase());
  if (scheme === undefined) throw badUri("must begin with storage:/, s3://, s3a://, s3n://, hdfs:// or file:/");
  const { authority, path } = split(rest, scheme);
  const uri: ObjectUri = { scheme, bucket: authority, key: scheme === "s3" ? path.slice(1) : path };
  checkBucket(uri);
  checkKey(uri);
  return uri;
}

export function formatObjectUri({ scheme, bucket, key }: ObjectUri): string {
  return scheme === "s3" ? `s3://${bucket}/${key}` : `${scheme}://${bucket}${key}`;
}

function split(rest: string, scheme: ObjectScheme): { authority: string; path: string } {
  if (!rest.startsWith("//")) {
    if (scheme === "file" && rest.startsWith("/")) return { authority: "", path: rest };
    throw badUri(`must have // after ${scheme}:`);
  }
  const slash = rest.indexOf("/", 2);
  return slash === -1
    ? { authority: rest.slice(2), path: "" }
    : { authority: rest.slice(2, slash), path: rest.slice(slash) };
}

function checkBucket({ scheme, bucket }: ObjectUri): void {
  const bucketRule = scheme === "s3" ? bucketNameRule(bucket) : undefined;
  if (bucketRule !== undefined) throw badUri(bucketRule);
  if (scheme === "hdfs" && !hdfsAuthority.test(bucket)) throw badUri("must name a host and port after hdfs://");
  if (scheme === "file" && bucket !== "") throw badUri("must name no host after file://");
}

function checkKey({ scheme, key }: ObjectUri): void {
  if (!key.isWellFormed() || key.includes("\0")) throw badUri("must be Unicode text without U+0000");
  if (Buffer.byteLength(key) > maxKeyBytes[scheme]) {
    throw badUri(`must have a key of at most ${maxKeyBytes[scheme]} bytes`);
  }
  if (scheme !== "s3" && !key.startsWith("/")) throw badUri("must have an absolute path");
}

function badUri(rule: string): ObjectStoreError {
  return new ObjectStoreError("bad-uri", `the URI ${rule}`);
}

/**
 * The rule for names of S3 buckets. Unlike S3's current rule, it allows upper-case letters and underscores, which old
 * buckets and compatible stores have. Returns the broken rule ("must …"), or undefined if the name is valid.
 */
function bucketNameRule(bucket: string): string | undefined {
  if (bucket.length < 3 || bucket.length > 63) return "must name a bucket of 3 to 63 characters";
  if (!/^[A-Za-z0-9._-]+$/.test(bucket)) return "must name a bucket of letters, digits, '.', '_' and '-'";
  if (!/^[A-Za-z0-9].*[A-Za-z0-9]$/.test(bucket)) {
    return "must name a bucket that begins and ends with a letter or a digit";
  }
  if (bucket.includes("..")) return "must name a bucket without two dots in a row";
  if (isIPv4(bucket)) return "must name a bucket that is not an IP address";
  return undefined;
}
