import type { Database } from "../../db/database.ts";
import type { Log } from "../../lib/log.ts";
import type { CommandFiles } from "../execution/command-files.ts";
import { claim, listCandidates, type Candidate, type Caps, type ClaimedCommand } from "../store/claims.ts";
import type { NodeRegistration, NodeState } from "../store/nodes.ts";
import { planClaims, type ClaimPlan, type PlannedClaim, type SharedNeed } from "./claim-plan.ts";
import type { RunnableKind, RunnableKindOf, CommandCluster } from "../execution/executor.ts";
import { endWaiting, type EndServices } from "./end-waiting.ts";
import { LoadSharing } from "./load-sharing.ts";
import { lostAfterMs } from "./lost-runs.ts";
import { type NodeRoom, largestBudgetMiB, tooLargeCause } from "./memory-rules.ts";
import type { WatchedNode } from "./heartbeats.ts";
import type { StandbyDrivers, StandbyRoom } from "../programs/standby-drivers.ts";
import type { RunnableCommand } from "../store/command-row.ts";

export interface ClaimerOptions {
  readonly db: Database;
  readonly node: NodeRegistration;
  readonly caps: Caps;
  readonly kindOf: RunnableKindOf;
  readonly unready: Unready;
  readonly sharedMemory: SharedMemory;
  readonly useClusters: UseClusters;
  readonly standbys: Pick<StandbyDrivers, "keepWithin">;
  /** The share of an account. */
  readonly accountMemoryMiB: number;
  readonly leaseSeconds: number;
  readonly filesOf: (command: RunnableCommand) => CommandFiles;
  readonly onEnd: (commandId: number) => void;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Makes the other nodes poll the queue now. */
  readonly wakeNodes: () => void;
  /** Aborted: claims nothing more. */
  readonly stopping: AbortSignal;
}

/** Says why no command of the kind can start on this node now, as text for users; null: it can. */
export type Unready = (kind: RunnableKind, cluster: CommandCluster) => string | null;

/** Starts clusters that commands wait for, where possible. Returns by cluster why nothing can run there yet. */
export type UseClusters = (
  clusterIds: readonly number[],
) => Promise<ReadonlyMap<number, { readonly waitingReason: string | null }>>;

/** The memory of processes that commands share. */
export interface SharedMemory {
  reservedMiB(): number;
  /** The memory of the processes in use, by account. */
  inUseMiB(): ReadonlyMap<number, number>;
  /** Ends unused processes to free the given memory. */
  evict(neededMiB: number): void;
}

/** The state of the queue at the last poll. */
export interface QueueSituation {
  readonly nodeState: NodeState;
  /** All nodes, this one included. */
  readonly nodes: readonly WatchedNode[];
  readonly candidates: readonly Candidate[];
  /** Why commands of a cluster wait for it, by its id. */
  readonly clusterReasons: ReadonlyMap<number, string>;
  readonly plan: ClaimPlan;
}

/** The states of this node and the others. */
export interface NodeView extends Pick<QueueSituation, "nodeState" | "nodes"> {
  /** `own`: only those that no other node may run. */
  readonly takes: "all" | "own" | "nothing";
}

/** A run of this node. */
export interface HeldRun {
  readonly accountId: number;
  /** Until a shared process has started, each of its runs reports its memory; the claimer counts it once. */
  readonly memoryMiB: number;
  /** The key of the process that it shares with other commands. */
  readonly sharedBy: string | undefined;
}

const NOTHING_PLANNED: ClaimPlan = { claims: [], shortages: new Map(), missingMiB: 0 };
const NO_ROOM: StandbyRoom = { freeMiB: 0, spareMiB: 0 };
const CANDIDATES = { perLane: 16, perAccount: 256 };

/** Claims waiting commands for this node, within the caps and the memory. */
export class Claimer {
  readonly #options: ClaimerOptions;
  readonly #sharing: LoadSharing;
  readonly #endServices: EndServices;
  /** When this node first saw a command wait for memory. */
  #shortSince: ReadonlyMap<number, number> = new Map();
  #situation: QueueSituation | undefined;

  constructor(options: ClaimerOptions) {
    this.#options = options;
    this.#sharing = new LoadSharing({ ...options, db: options.db.system });
    this.#endServices = { ...options, db: options.db.system };
  }

  /** Undefined before the first poll. */
  get situation(): QueueSituation | undefined {
    return this.#situation;
  }

  /** Calls `conduct` with each claimed command at once. */
  async claimWaiting(
    { takes, ...seen }: NodeView,
    runs: readonly HeldRun[],
    conduct: (command: ClaimedCommand) => void,
  ): Promise<void> {
    const { db, node, kindOf, unready, sharedMemory, standbys } = this.#options;
    const candidates = await listCandidates(db.system, CANDIDATES);
    if (takes === "nothing") {
      standbys.keepWithin(NO_ROOM);
      this.#situation = { ...seen, candidates, clusterReasons: new Map(), plan: NOTHING_PLANNED };
      return;
    }
    const mayTake = ({ onlyNodeId }: Candidate): boolean =>
      onlyNodeId === null ? takes === "all" : onlyNodeId === node.id;
    const waitsForCluster = (each: Candidate): boolean => !each.isClusterUp && kindOf(each).needsCluster;
    const taken = candidates.filter(mayTake);
    const clusterReasons = await this.#useClusters(taken.filter(waitsForCluster));
    const ready = taken.filter(
      (candidate) => !waitsForCluster(candidate) && unready(kindOf(candidate), candidate) === null,
    );
    const room = this.#roomBeside(runs);
    const plan = this.#plan(ready, room);
    this.#situation = { ...seen, candidates, clusterReasons, plan };
    standbys.keepWithin(takes === "all" ? roomForStandbys(plan, room.budgetMiB - room.usedMiB) : NO_ROOM);
    if (plan.missingMiB > 0) sharedMemory.evict(plan.missingMiB);
    await this.#claim(await this.#sharing.choose(plan.claims, seen.nodes), conduct);
    await this.#endTooLarge(ready, seen.nodes);
  }

  #roomBeside(runs: readonly HeldRun[]): NodeRoom {
    const { node, accountMemoryMiB, sharedMemory } = this.#options;
    const serversBy = sharedMemory.inUseMiB();
    const usedBy = new Map(serversBy);
    const opening = new Set<string>();
    let usedMiB = sharedMemory.reservedMiB();
    for (const { accountId, memoryMiB, sharedBy } of runs) {
      const addedMiB = sharedBy !== undefined && opening.has(sharedBy) ? 0 : memoryMiB;
      if (addedMiB > 0 && sharedBy !== undefined) opening.add(sharedBy);
      usedBy.set(accountId, (usedBy.get(accountId) ?? 0) + addedMiB);
      usedMiB += addedMiB;
    }
    return { budgetMiB: node.memoryBudgetMiB, shareMiB: accountMemoryMiB, usedMiB, usedBy, serversBy, opening };
  }

  #plan(candidates: readonly Candidate[], room: NodeRoom): ClaimPlan {
    const { caps, kindOf, now } = this.#options;
    const [at, since] = [now(), this.#shortSince];
    const plan = planClaims({
      candidates,
      caps,
      room,
      memoryOf: (each) => needOf(kindOf(each), each),
      waitedMs: ({ id }) => at - (since.get(id) ?? at),
    });
    // The time also counts while the command waits for a cap.
    const short = candidates.filter(({ id }) => plan.shortages.has(id) || since.has(id));
    this.#shortSince = new Map(short.map(({ id }) => [id, since.get(id) ?? at]));
    return plan;
  }

  async #claim(claims: readonly PlannedClaim[], conduct: (command: ClaimedCommand) => void): Promise<void> {
    const { db, node, caps, kindOf, stopping } = this.#options;
    for (const { candidate, memoryMiB } of claims) {
      if (stopping.aborted) return;
      const { needsCluster } = kindOf(candidate);
      const command = await db.asSystem((tx) => claim(tx, node.id, candidate, memoryMiB, caps, needsCluster));
      if (command !== undefined) conduct(command);
    }
  }

  /** Ends commands that no node can start. Budgets may have become smaller since they were submitted. */
  async #endTooLarge(candidates: readonly Candidate[], nodes: readonly WatchedNode[]): Promise<void> {
    const { node, kindOf, leaseSeconds } = this.#options;
    const { shortages } = this.#situation?.plan ?? NOTHING_PLANNED;
    const largestMiB = largestBudgetMiB(nodes, node.memoryBudgetMiB, lostAfterMs(leaseSeconds));
    for (const candidate of candidates.filter(({ id }) => shortages.get(id) === "node")) {
      const neededMiB = kindOf(candidate).memory.reservedMiB(candidate);
      if (neededMiB <= largestMiB) continue;
      await endWaiting(this.#endServices, candidate, tooLargeCause(neededMiB, largestMiB));
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
 * A command that is claimed now may take over a standby driver with its memory. So its memory counts only at the next poll,
 * when the driver was taken or has to end.
 */
function roomForStandbys({ claims, shortages }: ClaimPlan, freeMiB: number): StandbyRoom {
  if (shortages.size > 0) return NO_ROOM;
  return { freeMiB, spareMiB: freeMiB - claims.reduce((sum, { memoryMiB }) => sum + memoryMiB, 0) };
}

function needOf({ memory }: RunnableKind, command: RunnableCommand): number | SharedNeed {
  const memoryMiB = memory.reservedMiB(command);
  const sharedBy = memory.sharedBy?.(command);
  return sharedBy === undefined ? memoryMiB : { memoryMiB, sharedBy };
}
