import ipaddr from "ipaddr.js";

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
export function embeddedAddresses(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4[] {
  if (!(address instanceof ipaddr.IPv6)) return [];
  const found = forms.filter(({ matches }) => matches(address)).flatMap(({ positions }) => positions);
  const clients = isTeredo(address) ? [inverted(ipv4In(address, LAST_FOUR))] : [];
  // No host has an address that starts with 0. Where several positions are possible, such a match is the wrong one.
  return [...found.map((offsets) => ipv4In(address, offsets)), ...clients].filter(({ octets: [first] }) => first !== 0);
}

type ByteOffsets = readonly [number, number, number, number];

export const LAST_FOUR: ByteOffsets = [12, 13, 14, 15];

/** Excludes `::` and `::1`, which have their own meaning. */
export function isIPv4Compatible(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address instanceof ipaddr.IPv6 && isIn("::", 96)(address) && !isIn("::", 127)(address);
}

/** The IPv4 address at these bytes of an IPv6 address. */
export function ipv4In(address: ipaddr.IPv6, offsets: ByteOffsets): ipaddr.IPv4 {
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
