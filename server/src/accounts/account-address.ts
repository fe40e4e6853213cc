/**
 * Checks the addresses of an account. Literal hosts are checked here; names are checked again whenever they are
 * resolved.
 */
import { ObjectStoreError } from "../object-store/object-store-error.ts";
import { parseObjectUri } from "../object-store/object-uri.ts";
import { invalid, type Rule } from "../lib/fault.ts";
import { hostRefusal } from "../lib/network-policy.ts";

const LOCATION_SCHEMES = ["s3", "s3a", "s3n", "hdfs"];
const METASTORE = /^thrift:\/\/([^/\s?#,]+)\/?$/;

/** Checks `defloc`: an S3 location is accessed with the account's keys, an HDFS one by its host, which is optional. */
export function checkLocation(location: string, allowedNetworks: readonly string[]): string {
  const broken = brokenLocationRule(location);
  if (broken !== undefined) throw invalid("defloc", broken);
  const [scheme, , authority = ""] = location.split("/");
  if (scheme === "hdfs:" && authority !== "") checkHost("defloc", authority, allowedNetworks);
  checkObjectUri("defloc", location);
  return location;
}

/** Says what is wrong with the form of a location. Quotes only what stands before `://`: the rest may be credentials. */
function brokenLocationRule(location: string): Rule | undefined {
  const [, scheme, slashes, rest = ""] = /^([A-Za-z][A-Za-z0-9+.-]{0,19}):(\/*)(.*)$/s.exec(location) ?? [];
  const beginning = "must begin with s3://, s3a://, s3n:// or hdfs://";
  if (scheme === "file") return `${beginning}. To store files on the server, leave defloc out`;
  const hasSlashes = slashes !== undefined && slashes.length >= 2;
  if (scheme === undefined || !LOCATION_SCHEMES.includes(scheme)) {
    const reason = hasSlashes
      ? `${scheme}:// is not supported`
      : "it has no scheme. For a bucket, write s3://bucket/prefix";
    return `${beginning}; ${reason}`;
  }
  if (!hasSlashes) return `must have // after ${scheme}:`;
  if (/\p{Cc}/u.test(location)) return "must not contain control characters";
  const [authority = "", ...names] = location.slice(`${scheme}://`.length).split("/");
  if (scheme !== "hdfs") {
    return authority.includes("@")
      ? "must not contain keys: send them as storage_access_key and storage_secret_key"
      : brokenNamesRule(names);
  }
  if (/[?#]/.test(rest)) return "must not contain ? or #";
  if (slashes === "//" && !rest.includes("/")) return "must have a path after the host, as in hdfs://host:port/path";
  return brokenNamesRule(names);
}

/** Hadoop normalises such paths, so that Spark would use another folder than we do. */
function brokenNamesRule(names: readonly string[]): Rule | undefined {
  const inner = names.at(-1) === "" ? names.slice(0, -1) : names; // a slash at the end
  return inner.some((name) => ["", ".", ".."].includes(name))
    ? "must have no empty name and no '.' or '..' in its path"
    : undefined;
}

/** Applies the rules of the object stores: if a store refused the location later, results would be lost. */
function checkObjectUri(field: string, location: string): void {
  try {
    parseObjectUri(location);
  } catch (error) {
    if (error instanceof ObjectStoreError) {
      throw invalid(field, `must ${error.message.replace(/^the URI must /, "")}`);
    }
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
