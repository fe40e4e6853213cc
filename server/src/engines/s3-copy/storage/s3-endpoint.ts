import { isLoopbackHost } from "../../../lib/network-policy.ts";
import { CopyError } from "../copy-error.ts";

/** §4.4: data that is encrypted at rest is transferred over TLS, and so is a customer's key. */
export function checkTransport(endpoint: string | null, side: "source" | "destination"): void {
  if (isProtected(endpoint)) return;
  throw new CopyError(`s3ServerSideEncryption needs an https endpoint: the S3 endpoint of the ${side} uses http`);
}

/** Protected by TLS, or because nothing leaves the machine. Null: the provider's endpoint, which uses TLS. */
export function isProtected(endpoint: string | null): boolean {
  if (endpoint === null) return true;
  const { protocol, hostname } = new URL(endpoint);
  return protocol === "https:" || isLoopbackHost(hostname);
}

/** `given` as `readEndpoint` returns it. A bare host is reached by TLS, unless it is the account's own endpoint. */
export function endpointUrl(given: string, ofAccount: string | null): string {
  if (given.includes("://")) return given;
  const isOwn = ofAccount !== null && isSame(`${new URL(ofAccount).protocol}//${given}`, ofAccount);
  return isOwn ? ofAccount : `https://${given}`;
}

/**
 * The partition of AWS that an endpoint belongs to: its endpoints have different names, but each bucket exists once. Null:
 * another service.
 */
export function partitionOf(endpoint: string | null, region: string): string | null {
  const host = endpoint === null ? `s3.${region}.amazonaws.com` : new URL(endpoint).hostname;
  if (!/\.amazonaws\.com(?:\.cn)?$/.test(host)) return null;
  return /[.-](cn|us-gov)-/.exec(host)?.[1] ?? "others";
}

function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => new URL(text).href.replace(/\/+$/, ""));
  return first === second;
}
