import { lookup as systemLookup, type LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import { ObjectStoreError } from "../object-store-error.ts";

/** Why an address may not be reached; null when it may. */
export type CheckAddress = (address: string) => string | null;

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
  const lookup = guardedLookup(checkAddress);
  const connectTo = buildConnector({ timeout: limits.connectTimeoutMs, lookup, allowH2: false });
  return new Agent({
    allowH2: false, // S3 is spoken in HTTP/1.1; one slow body shall not hold up the others of its connection
    connections: limits.maxConnections,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.bodyIdleTimeoutMs,
    connect(options, callback) {
      // A literal address is connected to without any lookup.
      const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
      const refusal = isIP(host) === 0 ? null : checkAddress(host);
      if (refusal === null) connectTo(options, callback);
      else callback(refused(refusal), null);
    },
  });
}

function guardedLookup(checkAddress: CheckAddress): LookupFunction {
  return (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, "", 0);
        return;
      }
      const refusal = firstRefusal(addresses, checkAddress);
      const [first] = addresses;
      if (refusal !== null) callback(refused(refusal), "", 0);
      else if (options.all === true) callback(null, addresses);
      else if (first === undefined) callback(new Error("the name has no address"), "", 0);
      else callback(null, first.address, first.family);
    });
  };
}

function firstRefusal(addresses: readonly LookupAddress[], checkAddress: CheckAddress): string | null {
  for (const { address } of addresses) {
    const refusal = checkAddress(address);
    if (refusal !== null) return refusal;
  }
  return null;
}

function refused(refusal: string): ObjectStoreError {
  return new ObjectStoreError("refused-address", `the address of the object store ${refusal}`);
}
