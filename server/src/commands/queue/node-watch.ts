import type { Queryable } from "../../db/database.ts";
import { ObservedSilence } from "../../lib/observed-silence.ts";
import { listBeats, type NodeBeat, type NodeState } from "../store/nodes.ts";

/** A node as this one has observed it. */
export interface WatchedNode extends NodeBeat {
  /** How long it was observed without a new beat; 0 for this node itself. */
  readonly silentMs: number;
  readonly isSilent: boolean;
}

export interface NodeWatchOptions {
  readonly db: Queryable;
  readonly ownId: string;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** A node beats at least every five seconds. It counts as dead after this time without a beat, until it beats again. */
const SILENT_AFTER_MS = 30_000;
/** Three beats. */
const LONGEST_GAP_MS = 15_000;

/**
 * Watches the heartbeats of the other nodes. A node is silent when this node has seen no new beat of it for 30 seconds. No
 * clocks of two machines are compared, so every registered node counts as live for 30 seconds after a start.
 */
export class NodeWatch {
  readonly #options: NodeWatchOptions;
  readonly #silence = new ObservedSilence<string>({ maxGapMs: LONGEST_GAP_MS });
  #nodes: readonly WatchedNode[] = [];

  constructor(options: NodeWatchOptions) {
    this.#options = options;
  }

  async update(): Promise<void> {
    const { db, ownId, now } = this.#options;
    const askedAt = now();
    const rows = await listBeats(db);
    this.#silence.observe(
      rows.map(({ id, beat, heartbeatAt }) => [id, `${beat} ${heartbeatAt.getTime()}`]),
      askedAt,
      now(),
    );
    this.#nodes = rows.map((row) => {
      const silentMs = row.id === ownId ? 0 : this.#silence.silentMs(row.id);
      return { ...row, silentMs, isSilent: silentMs >= SILENT_AFTER_MS };
    });
  }

  /** All registered nodes, this one included, as of the last update. */
  list(): readonly WatchedNode[] {
    return this.#nodes;
  }

  silentFor(milliseconds: number): WatchedNode[] {
    return this.#nodes.filter(({ silentMs }) => silentMs >= milliseconds);
  }

  silentNodes(): string[] {
    return this.#nodes.filter(({ isSilent }) => isSilent).map(({ id }) => id);
  }

  isSilent(nodeId: string): boolean {
    return this.#nodes.some(({ id, isSilent }) => id === nodeId && isSilent);
  }
}

/** The nodes that share a state, live or silent. */
export interface NodeGroup {
  readonly state: NodeState;
  readonly isSilent: boolean;
  readonly count: number;
  /** The latest heartbeat among them, as the database's clock was then. */
  readonly heartbeatAt: Date;
}

/** Ordered by the name of the state; within a state, live nodes come before silent ones. Pure. */
export function groupNodes(nodes: readonly WatchedNode[]): NodeGroup[] {
  const groups = Map.groupBy(nodes, ({ state, isSilent }) => `${state} ${isSilent ? 1 : 0}`);
  return [...groups]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, [first, ...others]]) => {
      if (first === undefined) return [];
      const latest = Math.max(...[first, ...others].map(({ heartbeatAt }) => heartbeatAt.getTime()));
      const { state, isSilent } = first;
      return { state, isSilent, count: 1 + others.length, heartbeatAt: new Date(latest) };
    });
}
