import type { Queryable } from "../../db/database.ts";
import type { Log } from "../../lib/log.ts";
import { repairDueTimes } from "../store/due-times.ts";
import {
  nodeHeartbeat,
  registerNode,
  type HeartbeatReply,
  type NodeRegistration,
  type NodeState,
} from "../store/nodes.ts";
import type { NodeWatch } from "./node-watch.ts";
import type { QueueMetrics } from "./queue-metrics.ts";

export interface HeartbeatOptions {
  readonly db: Queryable;
  readonly node: NodeRegistration;
  readonly nodeWatch: Pick<NodeWatch, "update">;
  readonly leaseSeconds: number;
  readonly metrics: Pick<QueueMetrics, "lostHeartbeat">;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Called when the database has confirmed a heartbeat that was sent at that time. */
  readonly renewLease: (askedAt: number) => void;
}

const HEARTBEATS_PER_LEASE = 20;
/** A heartbeat also reads the state that an operator gave the node. */
const LONGEST_INTERVAL_MS = 5000;
/** A smaller step back delays due commands by less than this, and does not justify a repair of all waiting rows. */
const STEP_MS = 1000;

/** Reports that this node is alive, renews its lease, and checks whether the other nodes are alive. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #state: NodeState = "active";
  #beatAt = -Infinity;
  /** The last time of the database, and the monotonic time at which it arrived. */
  #last: { readonly databaseMs: number; readonly answeredAt: number } | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** The state that an operator gave the node. */
  get state(): NodeState {
    return this.#state;
  }

  /** Does nothing if the last beat is recent. */
  async beat(): Promise<void> {
    const { db, node, nodeWatch, leaseSeconds, metrics, now, renewLease } = this.#options;
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
    } catch (error) {
      metrics.lostHeartbeat();
      throw error;
    }
    if (reply !== undefined) await this.#noteTime(reply.databaseMs, askedAt);
    await nodeWatch.update();
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
