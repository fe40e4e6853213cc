import { RawConnection, type RawAnswer, type RawConnectionOptions } from "./raw-connection.ts";
import type { RawRequest } from "./raw-request.ts";
import type { BodyRoom } from "./response-body.ts";

/** The connections whose requests one signal aborts, and the listener on that signal. */
interface UsedConnections {
  readonly all: Set<RawConnection>;
  readonly abort: () => void;
}

/**
 * The HTTP client of S3. The system copies large responses from the socket straight into the caller's memory. A general
 * client takes several times as long for a small request, and copies a large response twice more. The number of
 * connections is not limited here: the caller limits its requests.
 */
export class RawClient {
  readonly #options: RawConnectionOptions;
  readonly #idle = new Map<string, RawConnection[]>();
  readonly #usedUnder = new Map<AbortSignal, UsedConnections>();
  readonly #inUse = new Set<RawConnection>();
  #isClosed = false;

  constructor(options: RawConnectionOptions) {
    this.#options = options;
  }

  async send(request: RawRequest, room: BodyRoom | "stream", signal: AbortSignal | undefined): Promise<RawAnswer> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw new Error("the object store is closed");
    const { origin } = request;
    const connection = this.#takeIdle(origin) ?? new RawConnection(new URL(origin), this.#options);
    if (signal !== undefined) this.#usedConnections(signal).all.add(connection);
    this.#inUse.add(connection);
    const release = (): void => {
      if (signal !== undefined) this.#leave(signal, connection);
      this.#inUse.delete(connection);
      if (connection.isReusable && !this.#isClosed) this.#keep(origin, connection);
      else connection.destroy();
    };
    try {
      const answer = await connection.send(request, room);
      if (answer.stream?.errored) throw answer.stream.errored; // it may have closed already
      if (answer.stream === null) release();
      else answer.stream.once("close", release);
      return answer;
    } catch (error) {
      release();
      if (signal?.aborted !== true) this.#dropIdle(origin); // the store may have closed all of them
      throw error;
    }
  }

  /** Ends idle and pending connections now, and the others when their responses end. */
  close(): void {
    this.#isClosed = true;
    for (const origin of this.#idle.keys()) this.#dropIdle(origin);
    for (const connection of this.#inUse) if (!connection.isConnected) connection.destroy();
  }

  #dropIdle(origin: string): void {
    for (const connection of this.#idle.get(origin) ?? []) connection.destroy();
    this.#idle.delete(origin);
  }

  /**
   * Concurrent requests with the same signal share one listener, because adding and removing one for each request would take
   * microseconds. It is removed when the last of them ends, because a signal made by `AbortSignal.any` stays in memory as
   * long as it has a listener.
   */
  #usedConnections(signal: AbortSignal): UsedConnections {
    const known = this.#usedUnder.get(signal);
    if (known !== undefined) return known;
    const all = new Set<RawConnection>();
    const abort = (): void => {
      for (const connection of all) connection.destroy(signal.reason as Error); // whatever the caller has given
    };
    const used = { all, abort };
    this.#usedUnder.set(signal, used);
    signal.addEventListener("abort", abort, { once: true });
    return used;
  }

  #leave(signal: AbortSignal, connection: RawConnection): void {
    const used = this.#usedUnder.get(signal);
    used?.all.delete(connection);
    if (used?.all.size !== 0) return;
    this.#usedUnder.delete(signal);
    signal.removeEventListener("abort", used.abort);
  }

  #takeIdle(origin: string): RawConnection | undefined {
    const idle = this.#idle.get(origin) ?? [];
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      if (connection.isReusable) return connection;
    }
    return undefined;
  }

  #keep(origin: string, connection: RawConnection): void {
    const idle = this.#idle.get(origin) ?? [];
    idle.push(connection);
    this.#idle.set(origin, idle);
  }
}
