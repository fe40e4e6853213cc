import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * Where addresses given by users (S3 endpoints, HDFS, data stores, gateways, clusters) may lead. Pure: whoever connects
 * asks again for every address that a name resolved to, because a name may change between its check and its use.
 *
 * | Address | Verdict |
 * |---|---|
 * | link-local, metadata services, unspecified, multicast, broadcast | never |
 * | loopback, private and other special ranges | only inside a network of the operator's allow-list |
 * | everything else | yes |
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

/** Why this address may not be reached, as the rule of an error message; undefined when it may. */
export function addressRefusal(address: string, allowedNetworks: readonly string[]): string | undefined {
  if (!isAddress(address)) return "must be an IP address";
  const parsed = effective(ipaddr.process(address));
  const range = parsed.range();
  if (NEVER.has(range) || METADATA_SERVICES.includes(parsed.toString())) {
    return "must not be a link-local, metadata or other special address";
  }
  if (range === "unicast" || allowedNetworks.some((network) => contains(network, parsed))) return undefined;
  return "must not lie in a loopback, private or reserved network that HEADGATE_ALLOWED_NETWORKS does not name";
}

/** The same for the host of an address before it is resolved: a literal is judged, of names only `localhost`. */
export function hostRefusal(host: string, allowedNetworks: readonly string[]): string | undefined {
  const bare = host.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  if (isAddress(bare)) return addressRefusal(bare, allowedNetworks);
  return /(^|\.)localhost$/i.test(bare) ? addressRefusal("127.0.0.1", allowedNetworks) : undefined;
}

/** Of a literal address. */
export function isLoopback(address: string): boolean {
  return isAddress(address) && effective(ipaddr.process(address)).range() === "loopback";
}

function isAddress(text: string): boolean {
  // isIP is strict where ipaddr.js takes octal and shortened forms; a zone id only makes sense on link-local addresses.
  return isIP(text) !== 0 && !text.includes("%");
}

/** An IPv6 address that a NAT64 gateway translates is the IPv4 address it carries. */
function effective(address: Address): Address {
  if (!(address instanceof ipaddr.IPv6) || address.range() !== "rfc6052") return address;
  return new ipaddr.IPv4(address.toByteArray().slice(-4));
}

function contains(network: string, address: Address): boolean {
  const [base, length] = network.includes("/") ? ipaddr.parseCIDR(network) : wholeAddress(ipaddr.process(network));
  return base.kind() === address.kind() && address.match(base, length);
}

function wholeAddress(address: Address): [Address, number] {
  return [address, address.toByteArray().length * 8];
}
