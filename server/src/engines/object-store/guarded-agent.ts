import { isIP } from "node:net";
import { Agent, buildConnector } from "undici";
import { guardedLookup, type CheckAddress } from "../../lib/guarded-lookup.ts";
import { ObjectStoreError } from "./object-store-error.ts";

export interface AgentLimits {
  connectTimeoutMs: number;
  headersTimeoutMs: number;
  /** Between two pieces of a body, while we are willing to read. */
  bodyIdleTimeoutMs: number;
  maxConnections: number;
}

/**
 * Connections that are made only to addresses the check lets pass. It is asked with what the name resolved to for this
 * very connection, so a name that changes between check and use gains nothing; one refused address refuses the name.
 */
export function guardedAgent(checkAddress: CheckAddress, limits: AgentLimits): Agent {
  const lookup = guardedLookup(checkAddress, refusedAddress);
  const connectTo = buildConnector({ timeout: limits.connectTimeoutMs, lookup, allowH2: false });
  return new Agent({
    allowH2: false, // one slow body shall not hold up the others of its connection
    connections: limits.maxConnections,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.bodyIdleTimeoutMs,
    connect(options, callback) {
      // A literal address is connected to without any lookup.
      const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
      const refusal = isIP(host) === 0 ? null : checkAddress(host);
      if (refusal === null) connectTo(options, callback);
      else callback(refusedAddress(refusal), null);
    },
  });
}

export function refusedAddress(refusal: string): ObjectStoreError {
  return new ObjectStoreError("refused-address", `the address of the object store ${refusal}`);
}
