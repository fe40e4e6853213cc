import type { Queryable } from "../../db/database.ts";
import { listLoads } from "../store/claims.ts";
import type { Caps } from "../store/claims.ts";
import type { PlannedClaim } from "./claim-plan.ts";
import type { WatchedNode } from "./node-watch.ts";
import { spreadClaims, type NodeLoad } from "./spread-claims.ts";

export interface LoadSharingOptions {
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
    const overdue = this.#noteOverdue(claims);
    const others = nodes.filter((each) => this.#takesCommands(each));
    if (claims.length === 0 || others.length === 0) {
      this.#left.clear();
      return [...claims];
    }
    const loads = loadsByNode(await listLoads(db));
    const own = loadOf(node, loads);
    const spread = spreadClaims(
      claims.filter(({ candidate }) => !overdue.has(candidate.id)),
      own,
      others.map((each) => loadOf(each, loads)),
      ({ candidate }) => candidate.clusterCap ?? caps.perCluster,
    );
    const isNew = [...spread.left.keys()].some((id) => !this.#left.has(id));
    for (const id of this.#left.keys()) if (!spread.left.has(id)) this.#left.delete(id);
    for (const [id, { nodeId }] of spread.left) if (!this.#left.has(id)) this.#left.set(id, { nodeId, at: now() });
    if (isNew) wakeNodes();
    return claims.filter((claim) => overdue.has(claim.candidate.id) || spread.own.includes(claim));
  }

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
