import { isLoopbackHost } from "../../lib/network-policy.ts";

export interface S3Endpoint {
  /** `http(s)://host[:port][/path]`; null: the AWS endpoint of the region. */
  endpoint: string | null;
  region: string;
}

/**
 * The address of a bucket's requests. A custom endpoint uses path style, because its certificate and DNS seldom cover
 * `bucket.host`. AWS uses virtual-host style, except for buckets that its certificate does not cover.
 */
export interface BucketAddress {
  readonly origin: string;
  readonly host: string;
  /** Empty, or begins with a slash; never ends with one. */
  readonly basePath: string;
  /** TLS or loopback protects the body on its way, so its bytes need no signature. */
  readonly isProtected: boolean;
}

const virtualHostName = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;
const plainKey = /^[A-Za-z0-9_.~/-]*$/;

export function bucketAddress({ endpoint, region }: S3Endpoint, bucket: string): BucketAddress {
  if (endpoint !== null) {
    const { origin, host, hostname, protocol, pathname } = new URL(endpoint);
    const isProtected = protocol === "https:" || isLoopbackHost(hostname);
    return { origin, host, basePath: `${pathname.replace(/\/+$/, "")}/${bucket}`, isProtected };
  }
  const provider = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  const isOwnHost = virtualHostName.test(bucket);
  const host = isOwnHost ? `${bucket}.${provider}` : provider;
  return { origin: `https://${host}`, host, basePath: isOwnHost ? "" : `/${bucket}`, isProtected: true };
}

/** Percent-encoded, as it is signed and sent. */
export function objectPath(basePath: string, key: string): string {
  return `${basePath}${keyPath(key)}` || "/";
}

/** Sorted by name, as SigV4 requires. */
export function queryText(query: Readonly<Record<string, string>>): string {
  return Object.keys(query)
    .toSorted()
    .map((name) => `${encode(name)}=${encode(query[name] ?? "")}`)
    .join("&");
}

/** Keeps all slashes, including doubled and trailing ones; `.` and `..` have no special meaning in a key. */
export function keyPath(key: string): string {
  if (key === "") return "";
  return plainKey.test(key) ? `/${key}` : `/${key.split("/").map(encode).join("/")}`;
}

/** RFC 3986, as SigV4 requires: `encodeURIComponent` does not encode five more characters. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
