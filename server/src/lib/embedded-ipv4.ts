import ipaddr from "ipaddr.js";

/**
 * The IPv4 addresses that an IPv6 address carries: tunnels and translators deliver to them.
 *
 * | form | network | where the IPv4 address stands |
 * |---|---|---|
 * | IPv4-compatible | `::/96` | last |
 * | translated (RFC 2765) | `::ffff:0:0:0/96` | last |
 * | NAT64, local prefix (RFC 8215) | `64:ff9b:1::/48` | at any of the places of RFC 6052 |
 * | 6to4 | `2002::/16` | after the prefix |
 * | Teredo | `2001::/32` | the server after the prefix, the client last, with its bits turned |
 * | ISATAP | any, with `0:5efe` or `200:5efe` before it | last |
 */
export function embeddedAddresses(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4[] {
  if (!(address instanceof ipaddr.IPv6)) return [];
  const found = forms.filter(({ holds }) => holds(address)).flatMap(({ places }) => places);
  const clients = isTeredo(address) ? [turned(ipv4In(address, LAST_FOUR))] : [];
  // No machine has an address that begins with 0: where several places are possible, it stands at another.
  return [...found.map((place) => ipv4In(address, place)), ...clients].filter(({ octets: [first] }) => first !== 0);
}

type Place = readonly [number, number, number, number];

export const LAST_FOUR: Place = [12, 13, 14, 15];

/** The addresses `::` and `::1` are of their own kind. */
export function isIPv4Compatible(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address instanceof ipaddr.IPv6 && isIn("::", 96)(address) && !isIn("::", 127)(address);
}

/** By their bytes. */
export function ipv4In(address: ipaddr.IPv6, place: Place): ipaddr.IPv4 {
  const bytes = address.toByteArray();
  return new ipaddr.IPv4(place.map((at) => bytes[at] ?? 0));
}

interface Form {
  readonly holds: (address: ipaddr.IPv6) => boolean;
  readonly places: readonly Place[];
}

const isTeredo = isIn("2001::", 32);

const forms: readonly Form[] = [
  { holds: isIPv4Compatible, places: [LAST_FOUR] },
  { holds: isIn("::ffff:0:0:0", 96), places: [LAST_FOUR] },
  // Byte 8 is reserved and zero.
  { holds: isIn("64:ff9b:1::", 48), places: [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], LAST_FOUR] },
  { holds: isIn("2002::", 16), places: [[2, 3, 4, 5]] },
  { holds: isTeredo, places: [[4, 5, 6, 7]] },
  { holds: isIsatap, places: [LAST_FOUR] },
];

function isIn(network: string, length: number): (address: ipaddr.IPv6) => boolean {
  const base = ipaddr.IPv6.parse(network);
  return (address) => address.match(base, length);
}

function isIsatap(address: ipaddr.IPv6): boolean {
  const [, , , , high = 0, low = 0] = address.parts;
  return (high & ~0x200) === 0 && low === 0x5efe;
}

function turned(address: ipaddr.IPv4): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().map((byte) => 255 - byte));
}
