import { createRequire } from "node:module";
import { isIP, type Socket } from "node:net";
import type * as Undici from "undici";
import type { Agent, buildConnector, Dispatcher } from "undici";
import { guardedLookup, type CheckAddress } from "../lib/guarded-lookup.ts";
import { ObjectStoreError } from "./object-store-error.ts";
import { unlessAborted } from "../lib/unless-aborted.ts";

export interface AgentLimits {
  connectTimeoutMs: number;
  headersTimeoutMs: number;
  /** Time between two chunks of a body while we read it. */
  bodyIdleTimeoutMs: number;
  maxConnections: number;
}

export const DEFAULT_AGENT_LIMITS: AgentLimits = {
  connectTimeoutMs: 5_000,
  headersTimeoutMs: 30_000,
  bodyIdleTimeoutMs: 30_000,
  maxConnections: 16,
};

interface GuardedAgent {
  readonly dispatcher: Agent;
  /** Must be called when no request waits for its headers; bodies can still be read to the end. */
  readonly close: () => Promise<void>;
}

const load = createRequire(import.meta.url);

/**
 * An HTTP agent that connects only to allowed addresses. It checks the addresses to which the name resolved for this
 * connection, so that a DNS change between check and use has no effect. One refused address refuses the name.
 */
export function guardedAgent(checkAddress: CheckAddress, limits: AgentLimits): GuardedAgent {
  // Loaded here, because loading takes longer than everything else at the start of a copy, and most copies do not need it.
  const undici = load("undici") as typeof Undici;
  const lookup = guardedLookup(checkAddress, refusedAddress);
  const pending = new PendingConnections(
    undici.buildConnector({ timeout: limits.connectTimeoutMs, lookup, allowH2: false }),
  );
  const dispatcher = new undici.Agent({
    allowH2: false, // a slow body must not delay others on its connection
    connections: limits.maxConnections,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.bodyIdleTimeoutMs,
    connect(options, callback) {
      // Literal addresses need no lookup.
      const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
      const refusal = isIP(host) === 0 ? null : checkAddress(host);
      if (refusal === null) pending.make(options, callback);
      else callback(refusedAddress(refusal), null);
    },
  });
  return {
    dispatcher,
    close() {
      pending.abort();
      return dispatcher.close();
    },
  };
}

/**
 * Connections that are not established yet. An aborted request leaves its connection pending, and closing the agent would
 * wait for it until its timeout, for example if a store accepts the connection but does not answer the TLS handshake.
 */
class PendingConnections {
  readonly #connectTo: buildConnector.connector;
  readonly #ends = new Set<() => void>();
  #isAborted = false;

  constructor(connectTo: buildConnector.connector) {
    this.#connectTo = connectTo;
  }

  make(options: buildConnector.Options, callback: buildConnector.Callback): void {
    // When a connection ends, undici opens the next one, even for requests that were aborted too.
    if (this.#isAborted) {
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
    const socket = this.#connectTo(options, settle) as unknown as Socket; // missing in undici's types
  }

  abort(): void {
    this.#isAborted = true;
    for (const end of this.#ends) end();
  }
}

function closed(): Error {
  return new Error("the object store is closed");
}

export function refusedAddress(refusal: string): ObjectStoreError {
  return new ObjectStoreError("refused-address", `the address of the object store ${refusal}`);
}

/** The signal aborts the request at any time; undici itself checks it only after connecting. */
export async function sendRequest(
  dispatcher: Dispatcher,
  options: Dispatcher.RequestOptions,
  signal: AbortSignal | undefined,
): Promise<Dispatcher.ResponseData> {
  if (signal === undefined) return dispatcher.request(options);
  const answer = dispatcher.request({ ...options, signal });
  return unlessAborted(signal, answer, ({ body }) => void body.dump().catch(() => undefined));
}

/** Reads a small document. */
export async function readLimited(body: AsyncIterable<Buffer>, limitBytes: number): Promise<string> {
  return (await readLimitedBytes(body, limitBytes)).toString("utf8");
}

export async function readLimitedBytes(body: AsyncIterable<Buffer>, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > limitBytes) throw new ObjectStoreError("bad-response", `the answer is larger than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
