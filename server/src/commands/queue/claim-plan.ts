/**
 * Which commands a node claims next: the rules "turns" and "lanes" of `docs/command-states.md`.
 *
 * - The next command is one of the account that runs the fewest, and among those the one that is due longest, within the
 *   caps of its account and cluster.
 * - Commands of a lane keep their order. A command that cannot start holds up only its lane. One that is larger than this
 *   node is left to a larger node, and holds up nothing.
 */
import type { Candidate, Caps } from "../store/claims.ts";
import { compareDue, MemoryRules, type LaneHead, type NodeRoom, type Shortage } from "./memory-rules.ts";
import type { RunnableKind } from "../execution/executor.ts";

/** The commands that a node can claim now, in the order in which it should try. */
export interface ClaimPlan {
  readonly claims: readonly PlannedClaim[];
  /** Commands that wait only for memory of this node, and why. */
  readonly shortages: ReadonlyMap<number, Shortage>;
  /** How much memory is missing for the first command that waits only for free memory; 0: no command does. */
  readonly missingMiB: number;
}

export interface PlannedClaim {
  readonly candidate: Candidate;
  readonly memoryMiB: number;
  /** Whether other commands share its memory. */
  readonly isShared: boolean;
}

/** Memory that commands with the same `sharedBy` need once. */
export interface SharedNeed {
  readonly memoryMiB: number;
  readonly sharedBy: string;
}

export interface PlanInput {
  readonly candidates: readonly Candidate[];
  readonly caps: Caps;
  readonly room: NodeRoom;
  readonly memoryOf: (candidate: Candidate) => number | SharedNeed;
  /** How long this node has seen the command wait for memory, in milliseconds. */
  readonly waitedMs: (candidate: Candidate) => number;
}

export function planClaims({ candidates, caps, room, memoryOf, waitedMs }: PlanInput): ClaimPlan {
  const laneKey = ({ clusterId, lane }: Candidate): string => `${clusterId}/${lane}`;
  const lanes = new Set([...Map.groupBy(candidates, laneKey).values()].map((lane) => [...lane]));
  const accounts = new Map(candidates.map((each) => [each.accountId, each.accountRunning]));
  const clusters = new Map(candidates.map((each) => [each.clusterId, each.clusterRunning]));
  const mayRun = ({ accountId, clusterId, clusterCap }: Candidate): boolean =>
    (accounts.get(accountId) ?? 0) < caps.perAccount &&
    (clusters.get(clusterId) ?? 0) < (clusterCap ?? caps.perCluster);
  const shared = new Set(room.opening);
  const needOf = (candidate: Candidate): Need => {
    const need = memoryOf(candidate);
    if (typeof need === "number") return { memoryMiB: need, sharedBy: undefined };
    return shared.has(need.sharedBy) ? { ...need, memoryMiB: 0 } : need;
  };
  const heads = [...lanes].flatMap((lane): LaneHead | [] => {
    // A command that is larger than the node holds up nothing, so the one after it counts.
    const candidate = lane.find((each) => needOf(each).memoryMiB <= room.budgetMiB);
    if (candidate === undefined || !mayRun(candidate)) return [];
    return { candidate, memoryMiB: needOf(candidate).memoryMiB, waitedMs: waitedMs(candidate) };
  });
  const rules = new MemoryRules(room, heads);
  const claims: PlannedClaim[] = [];
  const take = (candidate: Candidate, { memoryMiB, sharedBy }: Need): void => {
    claims.push({ candidate, memoryMiB, isShared: sharedBy !== undefined });
    if (sharedBy !== undefined) shared.add(sharedBy);
    rules.take(candidate, memoryMiB);
    accounts.set(candidate.accountId, (accounts.get(candidate.accountId) ?? 0) + 1);
    clusters.set(candidate.clusterId, (clusters.get(candidate.clusterId) ?? 0) + 1);
  };

  for (;;) {
    const lane = firstLane(lanes, accounts);
    const next = lane?.[0];
    if (lane === undefined || next === undefined) break;
    const need = needOf(next);
    const shortage = mayRun(next) ? rules.shortageOf(next, need.memoryMiB, waitedMs(next)) : "cap";
    if (shortage === undefined) take(next, need);
    if (shortage === undefined || shortage === "node") lane.shift();
    else lanes.delete(lane);
    if (lane.length === 0) lanes.delete(lane);
  }
  return { claims, shortages: rules.shortages, missingMiB: rules.missingMiB };
}

/**
 * The lane in which a command waits on its cluster. What keeps the first command of a lane waiting, such as an engine that
 * is not ready or too little memory, applies to all of them and to no other lane. Queries of an app share a server; other
 * commands are sorted by the memory that they state, rounded up to a power of two.
 */
export function laneOf(
  { name, memory }: Pick<RunnableKind, "name" | "memory">,
  appId: number | null,
  statedMemoryMiB: number,
): string {
  const app = memory.sharedBy === undefined || appId === null ? "" : ` of app ${appId}`;
  const size = statedMemoryMiB > 0 ? ` up to ${2 ** Math.ceil(Math.log2(statedMemoryMiB))} MiB` : "";
  return `${name}${app}${size}`;
}

interface Need {
  readonly memoryMiB: number;
  readonly sharedBy: string | undefined;
}

function firstLane(lanes: ReadonlySet<Candidate[]>, accounts: ReadonlyMap<number, number>): Candidate[] | undefined {
  let first: { lane: Candidate[]; head: Candidate } | undefined;
  for (const lane of lanes) {
    const [head] = lane;
    if (head === undefined) continue;
    if (first === undefined || compareHeads(head, first.head, accounts) < 0) first = { lane, head };
  }
  return first?.lane;
}

function compareHeads(one: Candidate, other: Candidate, accounts: ReadonlyMap<number, number>): number {
  const running = (candidate: Candidate): number => accounts.get(candidate.accountId) ?? 0;
  return running(one) - running(other) || compareDue(one, other);
}
