import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../../db/database.ts";
import {
  groupNodes,
  nodeHeartbeat,
  registerNode,
  type NodeGroup,
  type NodeRegistration,
  type NodeState,
} from "../store/nodes.ts";
import {
  claim,
  listAbandoned,
  listCandidates,
  listHeld,
  listHeldStates,
  release,
  settle,
  type Candidate,
  type Caps,
  type ClaimedCommand,
  type SettledCommand,
} from "../store/queue.ts";
import { planClaims, type ClaimPlan, type SharedNeed } from "./claim-plan.ts";
import { ConductedRun, type ConductServices } from "./conduct-run.ts";
import type { Executor, RunnableCommand } from "./executor.ts";
import { repeat, type Repetition, type Worked } from "./repeat.ts";
import { logEnd } from "./run-line.ts";
import { settlementOf } from "./settlement.ts";
import type { StandbyDrivers, StandbyRoom } from "./standby-drivers.ts";
import { STOPPED_WITH_ALL, type StopMark } from "./stop-mark.ts";

export interface DispatcherOptions extends Omit<ConductServices, "db" | "stopping"> {
  readonly db: Database;
  readonly node: NodeRegistration;
  readonly caps: Caps;
  readonly leaseSeconds: number;
  readonly sharedMemory: SharedMemory;
  readonly useClusters: UseClusters;
  /** Undefined: no driver waits on this node. */
  readonly standbys: Pick<StandbyDrivers, "keepWithin"> | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly stopMark: StopMark;
  /** The database knew this node when it was asked at that time. */
  readonly renewLease: (askedAt: number) => void;
}

/** Commands want to run on clusters that are not UP: starts them where it can be. Why nothing can run there yet. */
export type UseClusters = (
  clusterIds: readonly number[],
) => Promise<ReadonlyMap<number, { readonly waitingReason: string | null }>>;

/** What the node's memory is taken by besides the runs: processes that commands share. */
export interface SharedMemory {
  reservedMiB(): number;
  /** Asks for so much of it back; what is in use stays. */
  evict(neededMiB: number): void;
}

const NOTHING_PLANNED: ClaimPlan = { claims: [], shortOfMemory: [], missingMiB: 0 };

/** As of the last look. */
export interface QueueSituation {
  readonly nodeState: NodeState;
  /** All nodes, this one included. */
  readonly nodes: readonly NodeGroup[];
  readonly candidates: readonly Candidate[];
  /** Why commands of a cluster wait for it, by its id. */
  readonly clusterReasons: ReadonlyMap<number, string>;
  readonly plan: ClaimPlan;
}

const LOOK_EVERY_MS = 1000;
/** Beyond the lease, for runners to end their programs; of a short lease as long as that. */
const LEASE_MARGIN_SECONDS = 60;
const HEARTBEATS_PER_LEASE = 20;
/** It also brings the state that an operator gave the node. */
const HEARTBEAT_AT_LEAST_MS = 5000;
const ABANDONED_EVERY_MS = 5000;
/** How long a stop of everything waits for its runs to be settled. Killing a runner that does not answer takes less. */
const STORE_PATIENCE_MS = 30_000;
const CANDIDATES = { perLane: 16, perAccount: 256 };

/**
 * The node's part of the queue. Every second, and at once when somebody pokes it, it looks at the rows: what it holds
 * and does not know is adopted, what it knows and does not hold is ended, what is to be cancelled is told so, and what
 * waits is claimed as far as caps and memory go. The rows are the truth; nothing here has to survive.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #services: ConductServices;
  readonly #stopping = new AbortController();
  readonly #runs = new Map<number, ConductedRun>();
  /** Fences of runs settled here: a look that began before they were must not adopt them. */
  readonly #settled = new Map<number, number>();
  readonly #releases = new Map<number, number>();
  readonly #looks: Repetition;
  #situation: QueueSituation | undefined;
  #nodeState: NodeState = "active";
  #nodes: readonly NodeGroup[] = [];
  #heartbeatAt = -Infinity;
  #isEnding = false;
  #abandonedAt = -Infinity;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#services = { ...options, db: options.db.system, stopping: this.#stopping.signal };
    this.#looks = repeat(() => this.#look(), LOOK_EVERY_MS, this.#stopping.signal, options.log);
  }

  poke(): void {
    this.#looks.poke();
  }

  /** Undefined before the first look. */
  situation(): QueueSituation | undefined {
    return this.#situation;
  }

  /** Claims nothing more. What runs is left alone, unless it shall end too. */
  async stop({ endsRuns = false } = {}): Promise<void> {
    if (endsRuns) await this.#endRuns();
    this.#stopping.abort();
    await this.#looks.ended;
    await Promise.all([...this.#runs.values()].map(({ finished }) => finished));
  }

  async #endRuns(): Promise<void> {
    this.#isEnding = true;
    // What an earlier process has left here counts too, and the first look may be yet to come.
    await this.#reconcile().catch((error: unknown) =>
      this.#options.log.warn({ err: error }, "what was left by an earlier process may go on running"),
    );
    // The programs end in time, but without the database their rows cannot be settled.
    const late = delay(STORE_PATIENCE_MS, "late" as const, { ref: false });
    if ((await Promise.race([this.#endKnownRuns(), late])) === "late") this.#options.stopMark.leave();
  }

  /**
   * Repeats, because a claim that was under way may still add a run. Runs that can be restarted are left for the next
   * start.
   */
  async #endKnownRuns(): Promise<void> {
    for (;;) {
      const runs = [...this.#runs.values()].filter(({ isRestartable }) => !isRestartable);
      if (runs.length === 0) return;
      for (const run of runs) run.end(STOPPED_WITH_ALL);
      await Promise.all(runs.map(({ finished }) => finished));
    }
  }

  /** Settles the runs that were ended while no server ran. The mark stays until all of them are settled. */
  async #settleStopped(): Promise<void> {
    const { stopMark } = this.#options;
    if (!stopMark.isThere) return;
    await this.#reconcile();
    await this.#endKnownRuns();
    if (!this.#stopping.signal.aborted) stopMark.remove();
  }

  async #look(): Promise<Worked> {
    await this.#beat();
    await this.#settleStopped();
    await this.#reconcile();
    await this.#claimMore();
    await this.#settleAbandoned();
    // Of a full node the next submission changes nothing; of an empty one it should start at once.
    const isIdle = this.#situation?.plan.claims.length === 0 && this.#situation.candidates.length > 0;
    return isIdle ? "idle" : "busy";
  }

  async #beat(): Promise<void> {
    const { db, node, leaseSeconds, metrics, renewLease } = this.#options;
    const askedAt = this.#options.now();
    const everyMs = Math.min(HEARTBEAT_AT_LEAST_MS, (leaseSeconds * 1000) / HEARTBEATS_PER_LEASE);
    if (askedAt - this.#heartbeatAt < everyMs) return;
    try {
      const known = await nodeHeartbeat(db.system, node.id);
      if (known === undefined || this.#heartbeatAt === -Infinity) await registerNode(db.system, node);
      this.#nodeState = known ?? "active";
      renewLease(askedAt);
      this.#heartbeatAt = askedAt;
    } catch (error) {
      metrics.lostHeartbeat();
      throw error;
    }
    this.#nodes = await groupNodes(db.system);
  }

  async #reconcile(): Promise<void> {
    const { db, node } = this.#options;
    const runs = [...this.#runs.values()];
    const settledBefore = [...this.#settled];
    const held = new Map((await listHeldStates(db.system, node.id)).map((row) => [row.id, row]));
    for (const run of runs) {
      const row = held.get(run.claim.id);
      if (row?.fence !== run.claim.fence) run.abandon();
      else if (row.status === "cancelling") run.cancel();
      else if (row.isClusterEnding) run.end("its cluster was terminated", { isFinal: true });
    }
    const isUnknown = ({ id, fence }: { id: number; fence: number }): boolean =>
      !this.#runs.has(id) && fence > (this.#settled.get(id) ?? -1);
    if ([...held.values()].some(isUnknown)) {
      for (const command of (await listHeld(db.system, node.id)).filter(isUnknown)) this.#conduct(command);
    }
    for (const [id, fence] of settledBefore) if (this.#settled.get(id) === fence) this.#settled.delete(id);
  }

  async #claimMore(): Promise<void> {
    const { db, node, caps, executorOf, sharedMemory, standbys } = this.#options;
    const seen = { nodeState: this.#nodeState, nodes: this.#nodes };
    const candidates = await listCandidates(db.system, CANDIDATES);
    if (this.#nodeState !== "active" || this.#isEnding) {
      standbys?.keepWithin({ freeMiB: 0, spareMiB: 0 });
      this.#situation = { ...seen, candidates, clusterReasons: new Map(), plan: NOTHING_PLANNED };
      return;
    }
    const waitsForCluster = (each: Candidate): boolean => !each.isClusterUp && executorOf(each).needsNoCluster !== true;
    const clusterReasons = await this.#useClusters(candidates.filter(waitsForCluster));
    const ready = candidates.filter(
      (candidate) => !waitsForCluster(candidate) && executorOf(candidate).unready(candidate) === null,
    );
    const ofRuns = [...this.#runs.values()].reduce((sum, { memoryMiB }) => sum + memoryMiB, 0);
    const usedMiB = ofRuns + sharedMemory.reservedMiB();
    const room = { budgetMiB: node.memoryBudgetMiB, usedMiB };
    const plan = planClaims(ready, caps, room, (each) => needOf(executorOf(each), each), new Date());
    this.#situation = { ...seen, candidates, clusterReasons, plan };
    standbys?.keepWithin(roomForStandbys(plan, node.memoryBudgetMiB - usedMiB));
    if (plan.missingMiB > 0) sharedMemory.evict(plan.missingMiB);
    for (const { candidate, memoryMiB } of plan.claims) {
      if (this.#stopping.signal.aborted) return;
      const needsCluster = executorOf(candidate).needsNoCluster !== true;
      const command = await db.asSystem((tx) => claim(tx, node.id, candidate, memoryMiB, caps, needsCluster));
      if (command !== undefined) this.#conduct(command);
    }
  }

  async #useClusters(waiting: readonly Candidate[]): Promise<Map<number, string>> {
    const down = new Set(waiting.map(({ clusterId }) => clusterId));
    if (down.size === 0) return new Map();
    const used = await this.#options.useClusters([...down]);
    return new Map(
      [...used].flatMap(([id, { waitingReason }]) => (waitingReason === null ? [] : [[id, waitingReason]])),
    );
  }

  #conduct(command: ClaimedCommand): void {
    const releases = this.#releases.get(command.id) ?? 0;
    const run = new ConductedRun(command, this.#options.node.id, this.#services, releases);
    this.#runs.set(command.id, run);
    void run.finished.then((end) => {
      if (end !== "left") this.#settled.set(command.id, command.fence);
      if (this.#runs.get(command.id) === run) this.#runs.delete(command.id);
      if (end === "released") this.#releases.set(command.id, releases + 1);
      else this.#releases.delete(command.id);
      this.poke();
    });
  }

  async #settleAbandoned(): Promise<void> {
    const { db, node, leaseSeconds, metrics, log, onEnd } = this.#options;
    if (this.#options.now() - this.#abandonedAt < ABANDONED_EVERY_MS) return;
    this.#abandonedAt = this.#options.now();
    const silentSeconds = leaseSeconds + Math.min(leaseSeconds, LEASE_MARGIN_SECONDS);
    for (const command of await listAbandoned(db.system, node.id, silentSeconds)) {
      log.warn({ command: command.id, node: command.nodeId }, "settling a run of a node that has fallen silent");
      const status = await this.#settleLost(command);
      if (status !== undefined) metrics.lostHeartbeat();
      if (status !== undefined && status !== "running") onEnd(command.id);
    }
  }

  /** Undefined: another node was quicker, or its own is back. */
  async #settleLost(command: ClaimedCommand & { nodeId: string }): Promise<SettledCommand["status"] | undefined> {
    const { db, log, metrics, executorOf } = this.#options;
    const isWanted = command.status !== "cancelling";
    if (command.handle === null || (isWanted && executorOf(command).isRestartable === true)) {
      return release(db.system, command);
    }
    const lost = { state: "lost", cause: "the node that ran it has fallen silent" } as const;
    const settled = await settle(db.system, command, settlementOf(command, lost, Infinity));
    if (settled !== undefined) {
      metrics.settled(command.commandType, settled);
      logEnd(log, command, settled);
    }
    return settled?.status;
  }
}

/**
 * What is claimed now may be for a driver that waits, and then takes its memory over: so that is counted at the next look,
 * when the driver has been taken or has to go.
 */
function roomForStandbys({ claims, shortOfMemory }: ClaimPlan, freeMiB: number): StandbyRoom {
  if (shortOfMemory.length > 0) return { freeMiB: 0, spareMiB: 0 };
  return { freeMiB, spareMiB: freeMiB - claims.reduce((sum, { memoryMiB }) => sum + memoryMiB, 0) };
}

function needOf(executor: Executor, command: RunnableCommand): number | SharedNeed {
  const memoryMiB = executor.memoryMiB(command);
  const sharedBy = executor.sharedBy?.(command);
  return sharedBy === undefined ? memoryMiB : { memoryMiB, sharedBy };
}
