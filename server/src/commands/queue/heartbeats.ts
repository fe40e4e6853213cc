import type { Queryable } from "../../db/database.ts";
import type { Log } from "../../lib/log.ts";
import { repairDueTimes } from "../store/queue.ts";
import {
  nodeHeartbeat,
  registerNode,
  type HeartbeatReply,
  type NodeRegistration,
  type NodeState,
  listBeats,
  type NodeBeat,
} from "../store/nodes.ts";
import type { QueueMetrics } from "./queue-metrics.ts";
import type { TimelineWatch } from "./timeline-watch.ts";
import { ObservedSilence } from "../../lib/observed-silence.ts";

export interface HeartbeatOptions {
  readonly db: Queryable;
  readonly node: NodeRegistration;
  readonly nodeWatch: Pick<NodeWatch, "update">;
  readonly timelineWatch: Pick<TimelineWatch, "check">;
  readonly leaseSeconds: number;
  readonly metrics: Pick<QueueMetrics, "lostHeartbeat">;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Called when the database has confirmed a heartbeat that was sent at that time. */
  readonly renewLease: (askedAt: number) => void;
}

const HEARTBEATS_PER_LEASE = 20;
/** A heartbeat also reads the node's state, so an operator's change takes effect within about five seconds. */
const LONGEST_INTERVAL_MS = 5000;
/** A smaller step back delays due commands by less than this, and does not justify a repair of all waiting rows. */
const STEP_MS = 1000;

/** Reports that this node is alive, renews its lease, and checks whether the other nodes are alive. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #state: NodeState = "active";
  #beatAt = -Infinity;
  #isLost = false;
  /** The last time of the database, and the monotonic time at which it arrived. */
  #last: { readonly databaseMs: number; readonly answeredAt: number } | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** The state that an operator gave the node. */
  get state(): NodeState {
    return this.#state;
  }

  /** Whether the last heartbeat could not be written. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Does nothing if the last beat is recent. */
  async beat(): Promise<void> {
    const { db, node, nodeWatch, timelineWatch, leaseSeconds, metrics, now, renewLease } = this.#options;
    const askedAt = now();
    const everyMs = Math.min(LONGEST_INTERVAL_MS, (leaseSeconds * 1000) / HEARTBEATS_PER_LEASE);
    if (askedAt - this.#beatAt < everyMs) return;
    let reply: HeartbeatReply | undefined;
    try {
      reply = await nodeHeartbeat(db, node.id);
      if (reply === undefined || this.#beatAt === -Infinity) await registerNode(db, node);
      this.#state = reply?.state ?? "active";
      renewLease(askedAt);
      this.#beatAt = askedAt;
      this.#isLost = false;
    } catch (error) {
      this.#isLost = true;
      metrics.lostHeartbeat();
      throw error;
    }
    if (reply !== undefined) await this.#noteTime(reply.databaseMs, askedAt);
    await nodeWatch.update();
    await timelineWatch.check();
  }

  /** Repairs due times if the database's clock was set back, and after a start, because that is not known then. */
  async #noteTime(databaseMs: number, askedAt: number): Promise<void> {
    const { db, node, log, now } = this.#options;
    const last = this.#last;
    const answeredAt = now();
    const isSetBack = last !== undefined && databaseMs < last.databaseMs + (askedAt - last.answeredAt) - STEP_MS;
    if (isSetBack) log.warn("the clock of the database was set back");
    if (isSetBack || last === undefined) await repairDueTimes(db, node.id);
    this.#last = { databaseMs, answeredAt };
  }
}

/** A node as this one has observed it. */
export interface WatchedNode extends NodeBeat {
  /** How long it was observed without a new beat; 0 for this node itself. */
  readonly silentMs: number;
  readonly isSilent: boolean;
}

interface NodeWatchOptions {
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
