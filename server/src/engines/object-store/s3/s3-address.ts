/**
 * Where a bucket's requests go. An endpoint of one's own takes path style, because its certificate and DNS seldom know
 * `bucket.host`; the provider's takes virtual-host style, except for buckets that its certificate does not cover.
 */
export interface S3Address {
  origin: string;
  host: string;
  /** Percent-encoded, as it is signed and sent. */
  path: string;
}

export interface S3Place {
  /** `http(s)://host[:port][/path]`; null: the provider by region. */
  endpoint: string | null;
  region: string;
}

const virtualHostName = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;

export function s3Address(place: S3Place, bucket: string, key: string): S3Address {
  if (place.endpoint !== null) {
    const { origin, host, pathname } = new URL(place.endpoint);
    return { origin, host, path: `${pathname.replace(/\/+$/, "")}/${bucket}${keyPath(key)}` };
  }
  const provider = `s3.${place.region}.amazonaws.com${place.region.startsWith("cn-") ? ".cn" : ""}`;
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

/** Slashes stay, also doubled and at the end; dots are no folders in a key. */
function keyPath(key: string): string {
  return key === "" ? "" : `/${key.split("/").map(encode).join("/")}`;
}

/** RFC 3986, which SigV4 asks for: `encodeURIComponent` leaves five characters more as they are. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
