import { invalid } from "../lib/fault.ts";
import { addressRefusal } from "../lib/network-policy.ts";
import { hostOfConnect, hostsOfMaster } from "./engine-address.ts";
import type { ClusterEngine } from "./engine.ts";

/** All addresses of a host. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/**
 * To be asked whenever an engine is about to be used: refuses when one of its hosts now leads where none may. Gives the
 * addresses, for whoever can connect to just these.
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
      if (rule !== undefined) throw invalid("engine", `leads to ${host}, which ${rule}`);
      addresses.push(address);
    }
  }
  return addresses;
}

/** Where an engine listens; none for what is configured on this machine. */
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
