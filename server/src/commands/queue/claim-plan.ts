import type { Candidate, Caps } from "../store/queue.ts";

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

/** After so long nothing else is taken before it, so that small commands cannot keep a large one out for ever. */
const PATIENCE_MS = 60_000;

/**
 * Fair between accounts: the next place goes to the account with the fewest running commands, then to the command that
 * is due longest. A cluster's commands keep their order. A command larger than the whole budget counts as the budget:
 * it runs alone.
 */
export function planClaims(
  candidates: readonly Candidate[],
  caps: Caps,
  room: NodeRoom,
  memoryOf: (candidate: Candidate) => number | SharedNeed,
  now: Date,
): ClaimPlan {
  const queues = [...Map.groupBy(candidates, ({ clusterId }) => clusterId).values()].map((queue) => [...queue]);
  const accounts = new Map(candidates.map((each) => [each.accountId, each.accountRunning]));
  const clusters = new Map(candidates.map((each) => [each.clusterId, each.clusterRunning]));
  const claims: PlannedClaim[] = [];
  const shortOfMemory: number[] = [];
  const shared = new Set<string>();
  let usedMiB = room.usedMiB;
  let missingMiB = 0;

  for (;;) {
    const heads = queues.flatMap((queue) => queue.slice(0, 1));
    const next = heads.toSorted((one, other) => compareHeads(one, other, accounts))[0];
    if (next === undefined) return { claims, shortOfMemory, missingMiB };
    const queue = queues.find(([head]) => head === next) ?? [];
    const ofAccount = accounts.get(next.accountId) ?? 0;
    const ofCluster = clusters.get(next.clusterId) ?? 0;
    if (ofAccount >= caps.perAccount || ofCluster >= (next.clusterCap ?? caps.perCluster)) {
      queue.length = 0;
      continue;
    }
    const need = memoryOf(next);
    const sharedBy = typeof need === "number" ? undefined : need.sharedBy;
    const fullMiB = typeof need === "number" ? need : need.memoryMiB;
    const isThere = sharedBy !== undefined && shared.has(sharedBy);
    const memoryMiB = isThere ? 0 : Math.min(fullMiB, room.budgetMiB);
    if (memoryMiB > 0 && usedMiB + memoryMiB > room.budgetMiB) {
      if (shortOfMemory.length === 0) missingMiB = usedMiB + memoryMiB - room.budgetMiB;
      shortOfMemory.push(next.id);
      if (now.getTime() - next.dueAt.getTime() > PATIENCE_MS) return { claims, shortOfMemory, missingMiB };
      queue.length = 0;
      continue;
    }
    claims.push({ candidate: next, memoryMiB });
    if (sharedBy !== undefined) shared.add(sharedBy);
    usedMiB += memoryMiB;
    accounts.set(next.accountId, ofAccount + 1);
    clusters.set(next.clusterId, ofCluster + 1);
    queue.shift();
  }
}

function compareHeads(one: Candidate, other: Candidate, accounts: ReadonlyMap<number, number>): number {
  const running = (candidate: Candidate): number => accounts.get(candidate.accountId) ?? 0;
  return running(one) - running(other) || one.dueAt.getTime() - other.dueAt.getTime() || one.id - other.id;
}
