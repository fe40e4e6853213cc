import { ObjectStoreError } from "../engines/object-store/object-store-error.ts";
import { parseObjectUri } from "../engines/object-store/object-uri.ts";
import { invalid } from "../lib/fault.ts";
import { hostRefusal } from "../lib/network-policy.ts";

/**
 * Checks the addresses of an account. Literal hosts are checked here; names are checked again whenever they are
 * resolved.
 */
const LOCATION = /^(s3[an]?|hdfs):\/\/\P{Cc}*$/u;
const HDFS_LOCATION = /^hdfs:\/\/([^/\s?#]*)\/[^\p{Cc}?#]*$/u;
const METASTORE = /^thrift:\/\/([^/\s?#,]+)\/?$/;
const LOCATION_FORM = "must be a location such as s3://bucket/prefix (s3, s3a, s3n) or hdfs://host:port/path";

/** Checks `defloc`: an S3 location is accessed with the account's keys, an HDFS one by its host, which is optional. */
export function checkLocation(location: string, allowedNetworks: readonly string[]): string {
  if (!LOCATION.test(location)) throw invalid("defloc", LOCATION_FORM);
  if (location.startsWith("hdfs:")) {
    const authority = HDFS_LOCATION.exec(location)?.[1];
    if (authority === undefined) throw invalid("defloc", LOCATION_FORM);
    if (authority !== "") checkHost("defloc", authority, allowedNetworks);
  }
  checkObjectUri("defloc", location);
  return location;
}

/** Applies the rules of the object stores: if a store refused the location later, results would be lost. */
function checkObjectUri(field: string, location: string): void {
  try {
    parseObjectUri(location);
  } catch (error) {
    if (error instanceof ObjectStoreError) throw invalid(field, error.message.replace(/^the URI /, ""));
    throw error;
  }
}

/** For `storage_endpoint` and `hdfs_http_address`. Removes a trailing slash, so that a path can be appended. */
export function checkHttpAddress(field: string, text: string, allowedNetworks: readonly string[]): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || !isPlain(url)) {
    throw invalid(field, "must be an http:// or https:// address without user, query or fragment");
  }
  refuseHost(field, url.hostname, allowedNetworks);
  return url.href.replace(/\/+$/, "");
}

/** `metastore_uri`: one address, or several of one metastore separated by commas. */
export function checkMetastoreUri(text: string, allowedNetworks: readonly string[]): string {
  for (const uri of text.split(",")) {
    const authority = METASTORE.exec(uri.trim())?.[1];
    if (authority === undefined) throw invalid("metastore_uri", "must be of the form thrift://host:port");
    checkHost("metastore_uri", authority, allowedNetworks);
  }
  return text;
}

/** Parses it as the host of an http URL, because only the URL parser normalises odd spellings (0x7f.1, 2130706433). */
function checkHost(field: string, authority: string, allowedNetworks: readonly string[]): void {
  const url = URL.canParse(`http://${authority}`) ? new URL(`http://${authority}`) : undefined;
  if (url === undefined || !isPlain(url)) throw invalid(field, "must name a host with an optional port, and no user");
  refuseHost(field, url.hostname, allowedNetworks);
}

function isPlain(url: URL): boolean {
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}

function refuseHost(field: string, host: string, allowedNetworks: readonly string[]): void {
  const refusal = hostRefusal(host, allowedNetworks);
  if (refusal !== undefined) throw invalid(field, refusal);
}
