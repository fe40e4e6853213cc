/** An address to listen on, as `net.Server.listen` takes it. */
export interface ListenAddress {
  readonly host: string;
  /** Whether an IPv6 socket does not also bind the IPv4 port. */
  readonly ipv6Only: boolean;
}

const LOOPBACK = ["127.0.0.1", "::1"];

/**
 * All addresses to bind for a host. Clients resolve names such as `localhost` in both address families. On loopback and
 * on the wildcard address the port is therefore bound in both; otherwise another program could answer instead. The
 * first address is required; the machine may lack the family of the second.
 */
export function listenAddresses(host: string): readonly ListenAddress[] {
  if (host === "::") return [{ host, ipv6Only: false }]; // one socket for both families
  return hostsOf(host).map((each) => ({ host: each, ipv6Only: true }));
}

function hostsOf(host: string): readonly string[] {
  if (host === "0.0.0.0") return [host, "::"];
  if (host === "::1") return LOOPBACK.toReversed();
  return host === "localhost" || LOOPBACK.includes(host) ? LOOPBACK : [host];
}

/** Error codes for an address family that the machine lacks. */
export const FAMILY_MISSING: ReadonlySet<unknown> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);
