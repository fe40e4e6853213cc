import { invalid } from "../lib/fault.ts";
import { addressRefusal } from "../lib/network-policy.ts";
import { hostOfConnect, hostsOfMaster } from "./engine-address.ts";
import type { ClusterEngine } from "./engine.ts";

/** Returns all addresses of a host. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/**
 * Call it before each use of an engine: throws if one of its hosts resolves to an address that is not allowed. Returns
 * the addresses, for callers that can connect to exactly these.
 */
export async function checkResolvedHosts(
  engine: ClusterEngine,
  allowedNetworks: readonly string[],
  resolve: Resolve,
): Promise<string[]> {
  const addresses: string[] = [];
  for (const host of hostsOf(engine)) {
    for (const address of await resolve(host.replace(/^\[(.*)\]$/, "$1"))) {
      const rule = addressRefusal(address, allowedNetworks);
      if (rule !== undefined) throw invalid("engine", `uses the host ${host}, which ${rule}`);
      addresses.push(address);
    }
  }
  return addresses;
}

/** The hosts of an engine; none for those that are configured on this machine. */
function hostsOf(engine: ClusterEngine): string[] {
  switch (engine.type) {
    case "local":
    case "yarn":
      return [];
    case "standalone":
      return hostsOfMaster(engine.masterUrl);
    case "kubernetes":
      return [new URL(engine.apiServer).hostname];
    case "connect":
      return [hostOfConnect(engine.url)];
  }
}
