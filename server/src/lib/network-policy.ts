/**
 * Decides which addresses given by users (S3 endpoints, HDFS, data stores, gateways, clusters) may be connected to. A
 * client must also check every address that a name resolves to, because a name can change between its check and its
 * use.
 *
 * | Address | Allowed |
 * |---|---|
 * | link-local, metadata services, unspecified, multicast, broadcast | never |
 * | loopback, private and other special ranges | only inside a network of the operator's allow-list |
 * | everything else | yes |
 *
 * An IPv6 address with an embedded IPv4 address is allowed only if both are.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Rule } from "./fault.ts";

const METADATA_SERVICES = [
  "169.254.169.254", // also link-local
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd20:ce::254",
];
const NEVER = new Set(["linkLocal", "unspecified", "multicast", "broadcast"]);

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Why this address must not be connected to, as the rule of an error message; undefined if it may be. */
export function addressRefusal(address: string, allowedNetworks: readonly string[]): Rule | undefined {
  if (!isAddress(address)) return "must be an IP address";
  const parsed = effective(address);
  // A gateway may deliver to the embedded IPv4 address.
  const meant: Address[] = [parsed, ...embeddedAddresses(parsed)];
  if (meant.some(isNever)) return "must not be a link-local, metadata or other special address";
  if (meant.every((each) => isOpen(each) || allowedNetworks.some((network) => contains(network, each)))) {
    return undefined;
  }
  return "must not be in a loopback, private or reserved network; an operator can allow networks in HEADGATE_ALLOWED_NETWORKS";
}

/** The same for a host before it is resolved: checks literal addresses and the name `localhost`. */
export function hostRefusal(host: string, allowedNetworks: readonly string[]): Rule | undefined {
  const bare = host.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  // Names have no colon, so an address with a zone id is refused here.
  if (isAddress(bare) || bare.includes(":")) return addressRefusal(bare, allowedNetworks);
  return /(^|\.)localhost$/i.test(bare) ? addressRefusal("127.0.0.1", allowedNetworks) : undefined;
}

/** Takes a literal address. */
export function isLoopback(address: string): boolean {
  return isAddress(address) && effective(address).range() === "loopback";
}

/** Takes the host name of a URL. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || isLoopback(hostname.replace(/^\[(.*)\]$/, "$1"));
}

function isAddress(text: string): boolean {
  // Unlike ipaddr.js, isIP refuses octal and shortened forms. A zone id is meaningful only on link-local addresses.
  return isIP(text) !== 0 && !text.includes("%");
}

/**
 * An IPv6 address that maps an IPv4 address, in the system itself or at a public NAT64 gateway, is treated as that
 * address.
 */
function effective(text: string): Address {
  if (!text.includes(":")) return ipaddr.IPv4.parse(text);
  // ipaddr.js parses ::1.2.3.4 as ::ffff:1.2.3.4; the URL parser writes it as ::102:304.
  const address = ipaddr.IPv6.parse(new URL(`http://[${text}]`).hostname.slice(1, -1));
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(NAT64, 96) ? ipv4In(address, LAST_FOUR) : address;
}

const NAT64 = ipaddr.IPv6.parse("64:ff9b::");

function isNever(address: Address): boolean {
  return NEVER.has(address.range()) || METADATA_SERVICES.includes(address.toString());
}

function isOpen(address: Address): boolean {
  return address.range() === "unicast" && !isIPv4Compatible(address);
}

function contains(network: string, address: Address): boolean {
  const [base, length] = network.includes("/") ? ipaddr.parseCIDR(network) : wholeAddress(effective(network));
  return base.kind() === address.kind() && address.match(base, length);
}

function wholeAddress(address: Address): [Address, number] {
  return [address, address.toByteArray().length * 8];
}

/**
 * The IPv4 addresses that are embedded in an IPv6 address: tunnels and translators deliver to them.
 *
 * | form | network | position of the IPv4 address |
 * |---|---|---|
 * | IPv4-compatible | `::/96` | last |
 * | translated (RFC 2765) | `::ffff:0:0:0/96` | last |
 * | NAT64, local prefix (RFC 8215) | `64:ff9b:1::/48` | any of the positions of RFC 6052 |
 * | 6to4 | `2002::/16` | after the prefix |
 * | Teredo | `2001::/32` | the server after the prefix, the client last, with its bits inverted |
 * | ISATAP | any, with `0:5efe` or `200:5efe` before it | last |
 */
function embeddedAddresses(address: Address): ipaddr.IPv4[] {
  if (!(address instanceof ipaddr.IPv6)) return [];
  const found = forms.filter(({ matches }) => matches(address)).flatMap(({ positions }) => positions);
  const clients = isTeredo(address) ? [inverted(ipv4In(address, LAST_FOUR))] : [];
  // No host has an address that starts with 0. Where several positions are possible, such a match is the wrong one.
  return [...found.map((offsets) => ipv4In(address, offsets)), ...clients].filter(({ octets: [first] }) => first !== 0);
}

type ByteOffsets = readonly [number, number, number, number];

const LAST_FOUR: ByteOffsets = [12, 13, 14, 15];

/** Excludes `::` and `::1`, which have their own meaning. */
function isIPv4Compatible(address: Address): boolean {
  return address instanceof ipaddr.IPv6 && isIn("::", 96)(address) && !isIn("::", 127)(address);
}

/** The IPv4 address at these bytes of an IPv6 address. */
function ipv4In(address: ipaddr.IPv6, offsets: ByteOffsets): ipaddr.IPv4 {
  const bytes = address.toByteArray();
  return new ipaddr.IPv4(offsets.map((at) => bytes[at] ?? 0));
}

interface Form {
  readonly matches: (address: ipaddr.IPv6) => boolean;
  readonly positions: readonly ByteOffsets[];
}

const isTeredo = isIn("2001::", 32);

const forms: readonly Form[] = [
  { matches: isIPv4Compatible, positions: [LAST_FOUR] },
  { matches: isIn("::ffff:0:0:0", 96), positions: [LAST_FOUR] },
  // Byte 8 is reserved and zero.
  { matches: isIn("64:ff9b:1::", 48), positions: [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], LAST_FOUR] },
  { matches: isIn("2002::", 16), positions: [[2, 3, 4, 5]] },
  { matches: isTeredo, positions: [[4, 5, 6, 7]] },
  { matches: isIsatap, positions: [LAST_FOUR] },
];

function isIn(network: string, length: number): (address: ipaddr.IPv6) => boolean {
  const base = ipaddr.IPv6.parse(network);
  return (address) => address.match(base, length);
}

function isIsatap(address: ipaddr.IPv6): boolean {
  const [, , , , high = 0, low = 0] = address.parts;
  return (high & ~0x200) === 0 && low === 0x5efe;
}

function inverted(address: ipaddr.IPv4): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().map((byte) => 255 - byte));
}
