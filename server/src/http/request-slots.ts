/**
 * Slots for requests that stay open. A user, an account and this node have a number of each kind, so that one user
 * cannot hold all connections, or the memory of all replies.
 *
 * | Kind | Held by | If none is free |
 * |---|---|---|
 * | wait | a request that waits for an event, such as with `wait_seconds` | it is answered at once |
 * | follow | a followed log, which reads the database every second | refused |
 * | stream | an upload of bytes; a list or a deletion of files; any other reply that is sent while it is read, or that waits for an upload | refused |
 * | discard | a refused request whose body is still read | its connection is closed |
 *
 * The refusal is 429 because of the user or the account, 503 because of the node.
 */
import { Fault } from "../lib/fault.ts";

export type SlotKind = "wait" | "follow" | "stream" | "discard";

interface SlotLimits {
  readonly user: number;
  readonly account: number;
  readonly node: number;
}

/** The slots that one request can take. */
export interface SlotsOfRequest {
  /** False: none is free. */
  readonly takeSlot: (kind: SlotKind) => boolean;
  /** Throws the refusal if none is free. */
  readonly requireSlot: (kind: RefusedKind) => void;
}

type RefusedKind = "follow" | "stream";

const RETRY_AFTER_SECONDS = 30;

export class RequestSlots {
  readonly #limits: Readonly<Record<SlotKind, SlotLimits>>;
  readonly #taken = new Map<string, number>();

  constructor(connections: number) {
    this.#limits = limitsFor(connections);
  }

  /** The owners are the user and the account. Returns an idempotent function that releases the slot, if one is free. */
  take(kind: SlotKind, owners: readonly string[]): (() => void) | undefined {
    if (this.#exhausted(kind, owners) !== undefined) return undefined;
    const keys = this.#countsOf(kind, owners).map(({ key }) => key);
    for (const key of keys) this.#add(key, 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      for (const key of keys) this.#add(key, -1);
    };
  }

  /** The slots of one request, which are released when it is over. A followed log needs no second one as a stream. */
  ofRequest(owners: readonly string[], whenFinished: (release: () => void) => void): SlotsOfRequest {
    const held = new Set<SlotKind>();
    const takeSlot = (kind: SlotKind): boolean => {
      if (held.has(kind) || (kind === "stream" && held.has("follow"))) return true;
      const release = this.take(kind, owners);
      if (release === undefined) return false;
      held.add(kind);
      whenFinished(release);
      return true;
    };
    return {
      takeSlot,
      requireSlot: (kind) => {
        if (!takeSlot(kind)) throw refusalOf(kind, this.#exhausted(kind, owners));
      },
    };
  }

  /** The first that has no free slot. */
  #exhausted(kind: SlotKind, owners: readonly string[]): keyof SlotLimits | undefined {
    const isFull = ({ key, limit }: { key: string; limit: number }): boolean => (this.#taken.get(key) ?? 0) >= limit;
    return this.#countsOf(kind, owners).find(isFull)?.of;
  }

  #countsOf(kind: SlotKind, [user, account]: readonly string[]) {
    const limits = this.#limits[kind];
    const names = { user, account, node: "node" };
    return (["user", "account", "node"] as const).flatMap((of) =>
      names[of] === undefined ? [] : [{ of, key: `${kind} ${names[of]}`, limit: limits[of] }],
    );
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
    // The node's slots are enough for at least eight accounts, so that two of them cannot take all.
    follow: { user: 10, account: 20, node: 200 },
    // Each may hold half a megabyte of its reply, and a batch of rows in a thread.
    stream: { user: share(160), account: share(80), node: 8 * share(80) },
    discard: { user: 4, account: 16, node: 100 },
  };
}

function refusalOf(kind: RefusedKind, exhausted: keyof SlotLimits | undefined): Fault {
  const details = { retryAfterSeconds: RETRY_AFTER_SECONDS };
  if (exhausted === "node") return new Fault("unavailable", NODE_TEXTS[kind], details);
  return new Fault("rate-limited", OWNER_TEXTS[kind], details);
}

const OWNER_TEXTS: Record<RefusedKind, string> = {
  follow: "Too many logs are being followed: send the request without follow, or try again later.",
  stream: "You or your account have too many open uploads and downloads. Finish one, then try again.",
};
const NODE_TEXTS: Record<RefusedKind, string> = {
  follow: "Too many logs are being followed on the server: send the request without follow, or try again later.",
  stream: "The server has too many open uploads and downloads. Try again later.",
};
