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

export interface GuardedAgent {
  readonly dispatcher: Agent;
  /** Once nobody waits for an answer any more; bodies may still be read to their ends. */
  readonly close: () => Promise<void>;
}

/**
 * Connections that are made only to addresses the check lets pass. It is asked with what the name resolved to for this
 * very connection, so a name that changes between check and use gains nothing; one refused address refuses the name.
 */
export function guardedAgent(checkAddress: CheckAddress, limits: AgentLimits): GuardedAgent {
  const pending = new PendingConnections();
  const lookup = guardedLookup(checkAddress, refusedAddress);
  const connectTo = buildConnector({ timeout: limits.connectTimeoutMs, lookup, allowH2: false });
  const dispatcher = new Agent({
    allowH2: false, // one slow body shall not hold up the others of its connection
    connections: limits.maxConnections,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.bodyIdleTimeoutMs,
    connect(options, callback) {
      // A literal address is connected to without any lookup.
      const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
      const refusal = isIP(host) === 0 ? null : checkAddress(host);
      if (refusal === null) connectTo(options, pending.add(callback));
      else callback(refusedAddress(refusal), null);
    },
  });
  return {
    dispatcher,
    close() {
      pending.giveUp();
      return dispatcher.close();
    },
  };
}

/**
 * Those that are still being made. A request that is called off leaves them behind, and an agent that is closed waits
 * for them, up to their whole timeout: a store that takes the connection and says nothing to TLS would hold it up.
 */
class PendingConnections {
  readonly #ends = new Set<() => void>();

  /** To be called in place of the given one. */
  add(callback: buildConnector.Callback): buildConnector.Callback {
    const settle: buildConnector.Callback = (...result) => {
      if (this.#ends.delete(end)) callback(...result);
      else result[1]?.destroy(); // nobody wants it any more
    };
    const end = (): void => settle(new Error("the object store is closed"), null);
    this.#ends.add(end);
    return settle;
  }

  giveUp(): void {
    for (const end of this.#ends) end();
  }
}

export function refusedAddress(refusal: string): ObjectStoreError {
  return new ObjectStoreError("refused-address", `the address of the object store ${refusal}`);
}
