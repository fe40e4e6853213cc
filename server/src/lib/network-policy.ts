import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { embeddedAddresses, ipv4In, isIPv4Compatible, LAST_FOUR } from "./embedded-ipv4.ts";

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
export function addressRefusal(address: string, allowedNetworks: readonly string[]): string | undefined {
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
export function hostRefusal(host: string, allowedNetworks: readonly string[]): string | undefined {
  const bare = host.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  // Names have no colon, so an address with a zone id is refused here.
  if (isAddress(bare) || bare.includes(":")) return addressRefusal(bare, allowedNetworks);
  return /(^|\.)localhost$/i.test(bare) ? addressRefusal("127.0.0.1", allowedNetworks) : undefined;
}

/** Takes a literal address. */
export function isLoopback(address: string): boolean {
  return isAddress(address) && effective(address).range() === "loopback";
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
