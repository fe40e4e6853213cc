import { isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import { Fault, invalid } from "../../lib/fault.ts";

/** §4.1: an IPv4 or IPv6 address or a CIDR block, as PostgreSQL's `cidr` takes it. */
export interface WhitelistEntry {
  cidr: string;
  /** As the client gave it, which is how it is shown. */
  givenText: string;
}

const PREFIX_LENGTH = /^\d{1,3}$/;
const MAPPED_PREFIX_LENGTH = 96;

export function parseWhitelistEntry(text: string): WhitelistEntry {
  const [address = "", prefixText, ...rest] = text.split("/");
  const parsed = parseAddress(address);
  if (parsed === undefined || rest.length > 0 || (prefixText !== undefined && !PREFIX_LENGTH.test(prefixText))) {
    throw invalid(
      "ip_cidr",
      "must be an IPv4 or IPv6 address or a CIDR block, for example 203.0.113.7 or 2001:db8::/32",
    );
  }
  const bits = parsed.toByteArray().length * 8;
  const prefixLength = prefixText === undefined ? bits : Number(prefixText);
  if (prefixLength > bits) throw invalid("ip_cidr", `must have a prefix length of at most ${bits}`);
  const block = unmapped(parsed, prefixLength);
  if (hasHostBits(block.address, block.prefixLength)) {
    throw invalid("ip_cidr", "must not have bits set beyond its prefix length");
  }
  return { cidr: `${block.address.toString()}/${block.prefixLength}`, givenText: text };
}

/**
 * The peer's address as the store compares it: IPv4-mapped IPv6 is IPv4, a zone id is dropped. What is no address, of a
 * Unix socket or of a proxy that forwards something else, is refused: no list could say whether it may come in.
 */
export function normalAddress(text: string): string {
  const [withoutZone = ""] = text.split("%");
  const parsed = parseAddress(withoutZone);
  if (parsed === undefined) {
    throw new Fault(
      "forbidden",
      "Your address cannot be read; a proxy before this server may forward it in another form.",
    );
  }
  return ipaddr.process(parsed.toString()).toString();
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

function parseAddress(text: string): Address | undefined {
  // isIPv4 refuses the octal and short forms that a lenient parser would read as something else.
  if (isIPv4(text)) return ipaddr.IPv4.parse(text);
  if (isIPv6(text) && !text.includes("%")) return ipaddr.IPv6.parse(text);
  return undefined;
}

function unmapped(address: Address, prefixLength: number): { address: Address; prefixLength: number } {
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && prefixLength >= MAPPED_PREFIX_LENGTH) {
    return { address: address.toIPv4Address(), prefixLength: prefixLength - MAPPED_PREFIX_LENGTH };
  }
  return { address, prefixLength };
}

function hasHostBits(address: Address, prefixLength: number): boolean {
  return address.toByteArray().some((byte, index) => {
    const networkBits = Math.min(8, Math.max(0, prefixLength - index * 8));
    return (byte & (0xff >> networkBits)) !== 0;
  });
}
