import { isIP, type Socket } from "node:net";
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
  const lookup = guardedLookup(checkAddress, refusedAddress);
  const pending = new PendingConnections(buildConnector({ timeout: limits.connectTimeoutMs, lookup, allowH2: false }));
  const dispatcher = new Agent({
    allowH2: false, // one slow body shall not hold up the others of its connection
    connections: limits.maxConnections,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.bodyIdleTimeoutMs,
    connect(options, callback) {
      // A literal address is connected to without any lookup.
      const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
      const refusal = isIP(host) === 0 ? null : checkAddress(host);
      if (refusal === null) pending.make(options, callback);
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
  readonly #connectTo: buildConnector.connector;
  readonly #ends = new Set<() => void>();
  #areGivenUp = false;

  constructor(connectTo: buildConnector.connector) {
    this.#connectTo = connectTo;
  }

  make(options: buildConnector.Options, callback: buildConnector.Callback): void {
    // Each end of one lets undici try the next for a request that waited, though that is called off, too.
    if (this.#areGivenUp) {
      callback(closed(), null);
      return;
    }
    const settle: buildConnector.Callback = (...result) => {
      if (this.#ends.delete(end)) callback(...result);
    };
    const end = (): void => {
      settle(closed(), null);
      socket.destroy();
    };
    this.#ends.add(end);
    const socket = this.#connectTo(options, settle) as unknown as Socket; // undici does not tell that it returns it
  }

  giveUp(): void {
    this.#areGivenUp = true;
    for (const end of this.#ends) end();
  }
}

function closed(): Error {
  return new Error("the object store is closed");
}

export function refusedAddress(refusal: string): ObjectStoreError {
  return new ObjectStoreError("refused-address", `the address of the object store ${refusal}`);
}
