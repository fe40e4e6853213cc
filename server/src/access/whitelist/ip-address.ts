import { isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import { Fault, invalid } from "../../lib/fault.ts";

/** §4.1: an IPv4 or IPv6 address or a CIDR block, in the form of PostgreSQL's `cidr`. */
export interface WhitelistEntry {
  cidr: string;
  /** The client's spelling, which lists show. */
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
 * The client's address in the form that the database compares: IPv4-mapped IPv6 becomes IPv4, a zone id is removed.
 * Text that is not an address (a Unix socket, or another format from a proxy) is refused, because no list can cover it.
 */
export function normalAddress(text: string): string {
  const [withoutZone = ""] = text.split("%");
  const parsed = parseAddress(withoutZone);
  if (parsed === undefined) {
    throw new Fault(
      "forbidden",
      "Your address cannot be read: the proxy in front of this server may forward it in another format.",
    );
  }
  return ipaddr.process(parsed.toString()).toString();
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

function parseAddress(text: string): Address | undefined {
  // isIPv4 refuses octal and short forms, which a lenient parser would misread.
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
