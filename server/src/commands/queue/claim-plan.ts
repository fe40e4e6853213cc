import type { Candidate, Caps } from "../store/claims.ts";
import { laneOf } from "./lane.ts";

/** What a node could claim now, in the order in which it should try. Pure. */
export interface ClaimPlan {
  readonly claims: readonly PlannedClaim[];
  /** Commands that only memory of this node keeps waiting. */
  readonly shortOfMemory: readonly number[];
  /** How much more the first of them needs. */
  readonly missingMiB: number;
}

export interface PlannedClaim {
  readonly candidate: Candidate;
  readonly memoryMiB: number;
}

export interface NodeRoom {
  readonly budgetMiB: number;
  readonly usedMiB: number;
}

/** Memory that commands with the same `sharedBy` need once. */
export interface SharedNeed {
  readonly memoryMiB: number;
  readonly sharedBy: string;
}

/**
 * When a command has waited for memory this long, no other command that needs memory is taken before it: small commands
 * must not keep a large one waiting for ever.
 */
const PATIENCE_MS = 60_000;

/**
 * Fair between accounts: the next place goes to the account with the fewest running commands, then to the command that
 * is due longest. Commands of a lane keep their order; a command that has to wait for memory holds up only its own
 * lane. A command that needs more than the whole budget counts as needing the whole budget, so it runs alone.
 */
export function planClaims(
  candidates: readonly Candidate[],
  caps: Caps,
  room: NodeRoom,
  memoryOf: (candidate: Candidate) => number | SharedNeed,
  now: Date,
): ClaimPlan {
  const lanes = new Set([...Map.groupBy(candidates, laneKey).values()].map((lane) => [...lane]));
  const accounts = new Map(candidates.map((each) => [each.accountId, each.accountRunning]));
  const clusters = new Map(candidates.map((each) => [each.clusterId, each.clusterRunning]));
  const claims: PlannedClaim[] = [];
  const shortOfMemory: number[] = [];
  const shared = new Set<string>();
  let { usedMiB } = room;
  let missingMiB = 0;
  let isMemoryKept = false;

  for (;;) {
    const lane = firstLane(lanes, accounts);
    const next = lane?.[0];
    if (lane === undefined || next === undefined) return { claims, shortOfMemory, missingMiB };
    const ofAccount = accounts.get(next.accountId) ?? 0;
    const ofCluster = clusters.get(next.clusterId) ?? 0;
    if (ofAccount >= caps.perAccount || ofCluster >= (next.clusterCap ?? caps.perCluster)) {
      lanes.delete(lane);
      continue;
    }
    const need = memoryOf(next);
    const sharedBy = typeof need === "number" ? undefined : need.sharedBy;
    const fullMiB = typeof need === "number" ? need : need.memoryMiB;
    const isThere = sharedBy !== undefined && shared.has(sharedBy);
    const memoryMiB = isThere ? 0 : Math.min(fullMiB, room.budgetMiB);
    if (memoryMiB > 0 && (isMemoryKept || usedMiB + memoryMiB > room.budgetMiB)) {
      lanes.delete(lane);
      if (isMemoryKept) continue;
      if (shortOfMemory.length === 0) missingMiB = usedMiB + memoryMiB - room.budgetMiB;
      shortOfMemory.push(next.id);
      isMemoryKept = now.getTime() - next.dueAt.getTime() > PATIENCE_MS;
      continue;
    }
    claims.push({ candidate: next, memoryMiB });
    if (sharedBy !== undefined) shared.add(sharedBy);
    usedMiB += memoryMiB;
    accounts.set(next.accountId, ofAccount + 1);
    clusters.set(next.clusterId, ofCluster + 1);
    lane.shift();
    if (lane.length === 0) lanes.delete(lane);
  }
}

function laneKey(candidate: Candidate): string {
  return `${candidate.clusterId}/${laneOf(candidate)}`;
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
  return running(one) - running(other) || one.dueAt.getTime() - other.dueAt.getTime() || one.id - other.id;
}
