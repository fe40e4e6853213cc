import type { Database } from "../../db/database.ts";
import { claim, listCandidates, type Candidate, type Caps, type ClaimedCommand } from "../store/claims.ts";
import type { NodeRegistration, NodeState } from "../store/nodes.ts";
import { planClaims, type ClaimPlan, type SharedNeed } from "./claim-plan.ts";
import type { Executor, RunnableCommand } from "./executor.ts";
import type { WatchedNode } from "./node-watch.ts";
import type { StandbyDrivers, StandbyRoom } from "./standby-drivers.ts";

export interface ClaimerOptions {
  readonly db: Database;
  readonly node: NodeRegistration;
  readonly caps: Caps;
  readonly executorOf: (command: RunnableCommand) => Executor;
  readonly sharedMemory: SharedMemory;
  readonly useClusters: UseClusters;
  /** Undefined: no driver waits on this node. */
  readonly standbys: Pick<StandbyDrivers, "keepWithin"> | undefined;
  /** Aborted: claims nothing more. */
  readonly stopping: AbortSignal;
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

/** As of the last look. */
export interface QueueSituation {
  readonly nodeState: NodeState;
  /** All nodes, this one included. */
  readonly nodes: readonly WatchedNode[];
  readonly candidates: readonly Candidate[];
  /** Why commands of a cluster wait for it, by its id. */
  readonly clusterReasons: ReadonlyMap<number, string>;
  readonly plan: ClaimPlan;
}

/** What the node knows of itself and the others when it looks. */
export interface NodeView extends Pick<QueueSituation, "nodeState" | "nodes"> {
  readonly takesCommands: boolean;
}

/** What the node runs already. */
export interface HeldRun {
  readonly memoryMiB: number;
}

const NOTHING_PLANNED: ClaimPlan = { claims: [], shortOfMemory: [], missingMiB: 0 };
const CANDIDATES = { perLane: 16, perAccount: 256 };

/** Claims for this node what waits, as far as caps and memory go. */
export class Claimer {
  readonly #options: ClaimerOptions;
  #situation: QueueSituation | undefined;

  constructor(options: ClaimerOptions) {
    this.#options = options;
  }

  /** Undefined before the first look. */
  get situation(): QueueSituation | undefined {
    return this.#situation;
  }

  /** Each claimed command goes to `conduct` at once. */
  async look(
    { takesCommands, ...seen }: NodeView,
    runs: readonly HeldRun[],
    conduct: (command: ClaimedCommand) => void,
  ): Promise<void> {
    const { db, node, caps, executorOf, sharedMemory, standbys, stopping } = this.#options;
    const candidates = await listCandidates(db.system, CANDIDATES);
    if (!takesCommands) {
      standbys?.keepWithin({ freeMiB: 0, spareMiB: 0 });
      this.#situation = { ...seen, candidates, clusterReasons: new Map(), plan: NOTHING_PLANNED };
      return;
    }
    const waitsForCluster = (each: Candidate): boolean => !each.isClusterUp && executorOf(each).needsNoCluster !== true;
    const clusterReasons = await this.#useClusters(candidates.filter(waitsForCluster));
    const ready = candidates.filter(
      (candidate) => !waitsForCluster(candidate) && executorOf(candidate).unready(candidate) === null,
    );
    const ofRuns = runs.reduce((sum, { memoryMiB }) => sum + memoryMiB, 0);
    const usedMiB = ofRuns + sharedMemory.reservedMiB();
    const room = { budgetMiB: node.memoryBudgetMiB, usedMiB };
    const plan = planClaims(ready, caps, room, (each) => needOf(executorOf(each), each), new Date());
    this.#situation = { ...seen, candidates, clusterReasons, plan };
    standbys?.keepWithin(roomForStandbys(plan, node.memoryBudgetMiB - usedMiB));
    if (plan.missingMiB > 0) sharedMemory.evict(plan.missingMiB);
    for (const { candidate, memoryMiB } of plan.claims) {
      if (stopping.aborted) return;
      const needsCluster = executorOf(candidate).needsNoCluster !== true;
      const command = await db.asSystem((tx) => claim(tx, node.id, candidate, memoryMiB, caps, needsCluster));
      if (command !== undefined) conduct(command);
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
}

/**
 * A command that is claimed now may get a driver that waits, and takes its memory over. Its memory counts at the next look,
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
