/** An address to listen on, as `net.Server.listen` takes it. */
export interface ListenAddress {
  readonly host: string;
  /** Whether an IPv6 socket leaves the port of IPv4 to others. */
  readonly ipv6Only: boolean;
}

const LOOPBACK = ["127.0.0.1", "::1"];

/**
 * All addresses that a host stands for. Clients look up names such as `localhost` in both address families, so on
 * loopback and on every address the port is ours in both of them: another program could otherwise answer in our place. The
 * first one is needed; the machine may lack the family of the second.
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

/** The codes of the operating system for an address family that the machine does not have. */
export const FAMILY_MISSING: ReadonlySet<unknown> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);
