import { RawConnection, type RawAnswer, type RawConnectionOptions, type RawRequest } from "./raw-connection.ts";
import type { BodyRoom } from "./response-body.ts";

/**
 * The HTTP client of S3. The system copies large responses from the socket straight into the caller's memory. A general
 * client takes several times as long for a small request, and copies a large response twice more. The number of
 * connections is not limited here: the caller limits its requests.
 */
export class RawClient {
  readonly #options: RawConnectionOptions;
  readonly #idle = new Map<string, RawConnection[]>();
  readonly #usedUnder = new WeakMap<AbortSignal, Set<RawConnection>>();
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
    const used = signal === undefined ? undefined : this.#usedConnections(signal);
    used?.add(connection);
    this.#inUse.add(connection);
    const release = (): void => {
      used?.delete(connection);
      this.#inUse.delete(connection);
      if (connection.isReusable && !this.#isClosed) this.#keep(origin, connection);
      else connection.destroy();
    };
    try {
      const answer = await connection.send(request, room);
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

  /** One listener per signal: adding and removing one for each request takes longer than signing the request. */
  #usedConnections(signal: AbortSignal): Set<RawConnection> {
    const known = this.#usedUnder.get(signal);
    if (known !== undefined) return known;
    const used = new Set<RawConnection>();
    this.#usedUnder.set(signal, used);
    const abort = (): void => {
      for (const connection of used) connection.destroy(signal.reason as Error); // whatever the caller has given
    };
    signal.addEventListener("abort", abort, { once: true });
    return used;
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
