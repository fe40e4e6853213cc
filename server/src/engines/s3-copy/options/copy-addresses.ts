import { isIPv6 } from "node:net";
import { ObjectStoreError } from "../../../object-store/object-store-error.ts";
import { formatObjectUri, parseObjectUri } from "../../../object-store/object-uri.ts";
import { resolveStorageUri } from "../../../object-store/storage-uri.ts";
import { CopyArgumentError } from "./copy-argument-error.ts";

export type OldScheme = "s3a" | "s3n";

/**
 * Checks the address of a folder or file, and returns it in the form that listings use, so that the two can be compared:
 * `s3` instead of `s3n` and `s3a`. A path alone is on HDFS, the default file system of a cluster, and so is Hadoop's short
 * form `hdfs:/path`; `storage:/path` is below `location`. Messages never quote the address, because it may contain
 * credentials.
 */
export function readAddress(option: string, text: string, location: string): string {
  const uri = text.startsWith("/") ? `hdfs://${text}` : text.replace(/^hdfs:\/(?!\/)/i, "hdfs:///");
  if (hasCredentials(uri)) {
    throw new CopyArgumentError(
      `--${option} must not contain keys: remove everything before the @, and use the account's keys or ` +
        "-D fs.s3a.access.key and -D fs.s3a.secret.key.",
    );
  }
  try {
    const { scheme, bucket, key } = parseObjectUri(resolveStorageUri(uri, location));
    if (scheme !== "s3") return formatObjectUri({ scheme, bucket, key: key.replaceAll(/\/{2,}/g, "/") });
    if (!bucket.includes("_")) return formatObjectUri({ scheme, bucket, key });
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    throw new CopyArgumentError(`--${option}: ${error.message}.`);
  }
  throw new CopyArgumentError(
    `--${option} names a bucket with an underscore, which is not supported: rename the bucket.`,
  );
}

/** The scheme that an address of S3 is written with if it is not `s3`; null otherwise. */
export function oldSchemeOf(text: string): OldScheme | null {
  const scheme = /^(s3[an]):/i.exec(text)?.[1]?.toLowerCase();
  return scheme === "s3a" || scheme === "s3n" ? scheme : null;
}

/** Names of buckets have no colon. A secret may contain slashes, so the `@` may be far from the start. */
function hasCredentials(uri: string): boolean {
  const [, scheme = "", rest = ""] = /^([^:/]*):\/\/(.*)$/s.exec(uri) ?? [];
  const [authority = ""] = rest.split("/", 1);
  const isS3 = scheme.toLowerCase().startsWith("s3");
  return authority.includes("@") || (isS3 && /:|%3a/i.test(authority) && rest.includes("@"));
}

/** A host, host and port, or URL. Returned without a scheme if it has none. */
export function readEndpoint(option: string, text: string): string {
  const rule = `--${option} must be a host, a host and port, or an http or https URL without user, query and fragment.`;
  const hasScheme = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(text);
  const full = hasScheme ? text : `https://${isIPv6(text) ? `[${text}]` : text}`;
  const url = URL.parse(full);
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && !/[@?#\s\\]/.test(full);
  if (!isPlain || url.hostname === "") throw new CopyArgumentError(rule);
  return `${hasScheme ? url.origin : url.host}${url.pathname.replace(/\/+$/, "")}`;
}
