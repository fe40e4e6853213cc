import type { Queryable } from "../../db/database.ts";
import { listLoads, type Caps } from "../store/claims.ts";
import type { PlannedClaim } from "./claim-plan.ts";
import type { WatchedNode } from "./heartbeats.ts";

interface LoadSharingOptions {
  readonly db: Queryable;
  readonly node: { readonly id: string; readonly memoryBudgetMiB: number };
  readonly caps: Caps;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Makes the other nodes poll the queue now. */
  readonly wakeNodes: () => void;
}

/** About the interval at which nodes poll: a node that can take a command has taken it by then. */
const LEFT_FOR_MS = 900;
/**
 * A node that did not take its command is passed over for a while. It may only be slow for a moment; but if it has no Spark
 * or its disk is full, it will not take the next command either. So the time doubles with each failure.
 */
const PASSED_OVER_MS = { first: 2_000, most: 60_000 };

/** Leaves commands to less loaded nodes, and takes those that they do not take. */
export class LoadSharing {
  readonly #options: LoadSharingOptions;
  /** Commands that were left to another node, by id. */
  readonly #left = new Map<number, { readonly nodeId: string; readonly at: number }>();
  readonly #passedOver = new Map<string, { readonly until: number; readonly forMs: number }>();

  constructor(options: LoadSharingOptions) {
    this.#options = options;
  }

  /** Returns the claims that this node takes now. Queries the database only if another node could take some. */
  async choose(claims: readonly PlannedClaim[], nodes: readonly WatchedNode[]): Promise<PlannedClaim[]> {
    const { db, node, caps, now, wakeNodes } = this.#options;
    const kept = this.#noteOverdue(claims);
    for (const { candidate } of claims) if (candidate.onlyNodeId !== null) kept.add(candidate.id);
    const others = nodes.filter((each) => this.#takesCommands(each));
    if (claims.length === 0 || others.length === 0) {
      this.#left.clear();
      return [...claims];
    }
    const loads = loadsByNode(await listLoads(db));
    const own = loadOf(node, loads);
    const spread = spreadClaims(
      claims.filter(({ candidate }) => !kept.has(candidate.id)),
      own,
      others.map((each) => loadOf(each, loads)),
      ({ candidate }) => candidate.clusterCap ?? caps.perCluster,
    );
    const isNew = [...spread.left.keys()].some((id) => !this.#left.has(id));
    for (const id of this.#left.keys()) if (!spread.left.has(id)) this.#left.delete(id);
    for (const [id, { nodeId }] of spread.left) if (!this.#left.has(id)) this.#left.set(id, { nodeId, at: now() });
    if (isNew) wakeNodes();
    return claims.filter((claim) => kept.has(claim.candidate.id) || spread.own.includes(claim));
  }

  /** The commands that another node should have taken by now. */
  #noteOverdue(claims: readonly PlannedClaim[]): Set<number> {
    const { now } = this.#options;
    const overdue = new Set<number>();
    for (const { candidate } of claims) {
      const left = this.#left.get(candidate.id);
      if (left === undefined || now() - left.at < LEFT_FOR_MS) continue;
      overdue.add(candidate.id);
      this.#passOver(left.nodeId);
    }
    return overdue;
  }

  #passOver(nodeId: string): void {
    const now = this.#options.now();
    const last = this.#passedOver.get(nodeId);
    if (last !== undefined && now < last.until) return;
    const isRepeated = last !== undefined && now - last.until < last.forMs;
    const forMs = isRepeated ? Math.min(2 * last.forMs, PASSED_OVER_MS.most) : PASSED_OVER_MS.first;
    this.#passedOver.set(nodeId, { until: now + forMs, forMs });
  }

  #takesCommands({ id, state, isSilent }: WatchedNode): boolean {
    const isPassedOver = (this.#passedOver.get(id)?.until ?? -Infinity) > this.#options.now();
    return id !== this.#options.node.id && state === "active" && !isSilent && !isPassedOver;
  }
}

type LoadRow = Awaited<ReturnType<typeof listLoads>>[number];

function loadsByNode(rows: readonly LoadRow[]): Map<string, LoadRow[]> {
  return Map.groupBy(rows, ({ nodeId }) => nodeId);
}

/** Counts only commands: idle servers release their memory, and servers of other nodes are not known here. */
function loadOf(
  { id, memoryBudgetMiB }: Pick<WatchedNode, "id" | "memoryBudgetMiB">,
  loads: ReadonlyMap<string, readonly LoadRow[]>,
): NodeLoad {
  const rows = loads.get(id) ?? [];
  return {
    id,
    budgetMiB: memoryBudgetMiB,
    usedMiB: rows.reduce((sum, { memoryMiB }) => sum + memoryMiB, 0),
    commands: rows.reduce((sum, { commands }) => sum + commands, 0),
    ofCluster: new Map(rows.map(({ clusterId, commands }) => [clusterId, commands])),
  };
}

/** The load of a node. */
export interface NodeLoad {
  readonly id: string;
  readonly budgetMiB: number;
  readonly usedMiB: number;
  readonly commands: number;
  /** Commands by cluster. */
  readonly ofCluster: ReadonlyMap<number, number>;
}

interface SpreadClaims {
  /** The claims that this node takes now. */
  readonly own: readonly PlannedClaim[];
  /** The claims that are left to less loaded nodes, by the id of the command. */
  readonly left: ReadonlyMap<number, { readonly nodeId: string; readonly clusterId: number }>;
}

/**
 * Spreads the commands that this node could claim over the nodes that could take them: each goes to the node that runs
 * the fewest of the command's cluster for its budget, then to the one that uses the smallest part of its memory,
 * then to the one with the fewest commands for its budget. This node wins every tie, so a command on an idle installation
 * starts at once if no other node has a larger budget. A query
 * whose warm server is here stays here until this node runs half as many commands as the cluster's cap allows, because
 * another node would have to start a server first. Pure.
 */
export function spreadClaims(
  claims: readonly PlannedClaim[],
  own: NodeLoad,
  others: readonly NodeLoad[],
  capOf: (claim: PlannedClaim) => number,
): SpreadClaims {
  const [self, ...rest] = [own, ...others].map(countedLoad);
  const kept: PlannedClaim[] = [];
  const left = new Map<number, { nodeId: string; clusterId: number }>();
  for (const claim of claims) {
    const { clusterId, id } = claim.candidate;
    const hasServer = claim.isShared && claim.memoryMiB === 0;
    const stays = hasServer && 2 * (self?.ofCluster.get(clusterId) ?? 0) < capOf(claim);
    const able = rest.filter(({ budgetMiB, usedMiB }) => usedMiB + claim.memoryMiB <= budgetMiB);
    const best = stays ? self : able.reduce((least, each) => (isLess(each, least, clusterId) ? each : least), self);
    if (best === undefined) continue;
    best.usedMiB += claim.memoryMiB;
    best.commands += 1;
    best.ofCluster.set(clusterId, (best.ofCluster.get(clusterId) ?? 0) + 1);
    if (best === self) kept.push(claim);
    else left.set(id, { nodeId: best.id, clusterId });
  }
  return { own: kept, left };
}

interface CountedLoad {
  readonly id: string;
  readonly budgetMiB: number;
  usedMiB: number;
  commands: number;
  readonly ofCluster: Map<number, number>;
}

function countedLoad(load: NodeLoad): CountedLoad {
  return { ...load, ofCluster: new Map(load.ofCluster) };
}

function isLess(one: CountedLoad, other: CountedLoad | undefined, clusterId: number): boolean {
  if (other === undefined) return true;
  const pressures = (load: CountedLoad): number[] =>
    [(load.ofCluster.get(clusterId) ?? 0) + 1, load.usedMiB, load.commands].map((each) => each / load.budgetMiB);
  const [ofOne, ofOther] = [pressures(one), pressures(other)];
  const at = ofOne.findIndex((each, index) => each !== ofOther[index]);
  return at !== -1 && (ofOne[at] ?? 0) < (ofOther[at] ?? 0);
}
