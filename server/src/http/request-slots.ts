/**
 * Slots for requests that stay open. A user, an account and this node have a number of each kind, so that one user
 * cannot hold all connections, or the memory of all replies.
 *
 * | Kind | Held by | If none is free |
 * |---|---|---|
 * | wait | a request that waits for an event, such as with `wait_seconds` | it is answered at once |
 * | follow | a followed log, which reads the database every second | 429 |
 * | stream | any other reply that is sent while it is read, or that waits for an upload | 429 |
 * | discard | a refused request whose body is still read | its connection is closed |
 */
import { Fault } from "../lib/fault.ts";

export type SlotKind = "wait" | "follow" | "stream" | "discard";

interface SlotLimits {
  readonly user: number;
  readonly account: number;
  readonly node: number;
}

const RETRY_AFTER_SECONDS = 30;

export class RequestSlots {
  readonly #limits: Readonly<Record<SlotKind, SlotLimits>>;
  readonly #taken = new Map<string, number>();

  constructor(connections: number) {
    this.#limits = limitsFor(connections);
  }

  /** The owners are the user and the account. Returns an idempotent function that releases the slot, if one is free. */
  take(kind: SlotKind, [user, account]: readonly string[]): (() => void) | undefined {
    const limits = this.#limits[kind];
    const owners: [name: string | undefined, limit: number][] = [
      [user, limits.user],
      [account, limits.account],
      ["node", limits.node],
    ];
    const counts = owners.flatMap(([name, limit]) => (name === undefined ? [] : [{ key: `${kind} ${name}`, limit }]));
    if (counts.some(({ key, limit }) => (this.#taken.get(key) ?? 0) >= limit)) return undefined;
    for (const { key } of counts) this.#add(key, 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      for (const { key } of counts) this.#add(key, -1);
    };
  }

  /**
   * The slots of one request, which are released when it is over. The result takes a slot, if one is free. A followed log
   * needs no second one as a stream.
   */
  ofRequest(owners: readonly string[], onceOver: (release: () => void) => void): (kind: SlotKind) => boolean {
    const held = new Set<SlotKind>();
    return (kind) => {
      if (held.has(kind) || (kind === "stream" && held.has("follow"))) return true;
      const release = this.take(kind, owners);
      if (release === undefined) return false;
      held.add(kind);
      onceOver(release);
      return true;
    };
  }

  #add(key: string, change: 1 | -1): void {
    const count = (this.#taken.get(key) ?? 0) + change;
    if (count === 0) this.#taken.delete(key);
    else this.#taken.set(key, count);
  }
}

/** Shares of the connections, except where each request costs more than its connection. */
function limitsFor(connections: number): Record<SlotKind, SlotLimits> {
  const share = (part: number): number => Math.max(1, Math.floor(connections / part));
  return {
    wait: { user: share(4), account: share(2), node: share(4 / 3) },
    follow: { user: 20, account: 40, node: 200 },
    // Each may hold half a megabyte of its reply, and a batch of rows in a thread.
    stream: { user: share(80), account: share(40), node: share(20) },
    discard: { user: 8, account: 16, node: 100 },
  };
}

/** The refusal of a request for which no slot of the kind is free. */
export function noSlotFree(kind: "follow" | "stream"): Fault {
  const text = {
    follow: "Too many logs are followed at once: send the request without follow, or try again later.",
    stream: "Too many replies are being received at once. Wait until one of them ends, then try again.",
  };
  return new Fault("rate-limited", text[kind], { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
