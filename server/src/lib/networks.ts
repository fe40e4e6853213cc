/**
 * Lists of addresses and CIDR blocks. Everything is compared in its IPv6 form, in which an IPv4 address is IPv4-mapped:
 * a socket of both address families reports IPv4 peers in that form.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Block = [ipaddr.IPv6, number];

const MAPPED_BITS = 96;
const LOOPBACK: readonly Block[] = [blockOf("127.0.0.0/8"), blockOf("::1")];

/** Text that is not an address is in no network. */
export function addressMatcher(networks: readonly string[]): (address: string | undefined) => boolean {
  const blocks = networks.map(blockOf);
  return (address) => {
    const bare = address?.replace(/%.*$/, "") ?? "";
    if (blocks.length === 0 || isIP(bare) === 0) return false;
    const [parsed] = blockOf(bare);
    return blocks.some(([base, bits]) => parsed.match(base, bits));
  };
}

/** Whether a network has a loopback address in it. */
export function includesLoopback(network: string): boolean {
  const [base, bits] = blockOf(network);
  return LOOPBACK.some(([loopback, length]) => base.match(loopback, Math.min(bits, length)));
}

function blockOf(network: string): Block {
  const [address = "", length] = network.split("/");
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv6) return [parsed, Number(length ?? 128)];
  return [parsed.toIPv4MappedAddress(), MAPPED_BITS + Number(length ?? 32)];
}
