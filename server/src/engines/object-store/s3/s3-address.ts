/**
 * The address of a bucket's requests. A custom endpoint uses path style, because its certificate and DNS seldom cover
 * `bucket.host`. AWS uses virtual-host style, except for buckets that its certificate does not cover.
 */
export interface S3Address {
  origin: string;
  host: string;
  /** Percent-encoded, as it is signed and sent. */
  path: string;
}

export interface S3Endpoint {
  /** `http(s)://host[:port][/path]`; null: the AWS endpoint of the region. */
  endpoint: string | null;
  region: string;
}

const virtualHostName = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;

export function s3Address({ endpoint, region }: S3Endpoint, bucket: string, key: string): S3Address {
  if (endpoint !== null) {
    const { origin, host, pathname } = new URL(endpoint);
    return { origin, host, path: `${pathname.replace(/\/+$/, "")}/${bucket}${keyPath(key)}` };
  }
  const provider = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  if (!virtualHostName.test(bucket)) {
    return { origin: `https://${provider}`, host: provider, path: `/${bucket}${keyPath(key)}` };
  }
  const host = `${bucket}.${provider}`;
  return { origin: `https://${host}`, host, path: key === "" ? "/" : keyPath(key) };
}

export function queryText(query: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

/** Keeps all slashes, including doubled and trailing ones; `.` and `..` have no special meaning in a key. */
function keyPath(key: string): string {
  return key === "" ? "" : `/${key.split("/").map(encode).join("/")}`;
}

/** RFC 3986, as SigV4 requires: `encodeURIComponent` does not encode five more characters. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
