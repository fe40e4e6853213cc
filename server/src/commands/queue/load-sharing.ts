/**
 * Which node takes a command: the rule "nodes" of `docs/command-states.md`. A command goes to the node that would run the
 * fewest commands of its cluster in proportion to its memory. After a second, any other node may take it.
 */
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

/** A little less than the time between two polls of a node. */
const LEFT_FOR_MS = 900;
/** A node that has not taken a command is passed over: it may have no Spark, or a full disk. */
const PASSED_OVER_MS = 10_000;

/** Leaves commands to less loaded nodes, and takes those that they do not take. */
export class LoadSharing {
  readonly #options: LoadSharingOptions;
  /** Commands that were left to another node, by id. */
  readonly #left = new Map<number, { readonly nodeId: string; readonly at: number }>();
  /** The nodes that are passed over, and until when. */
  readonly #passedOver = new Map<string, number>();

  constructor(options: LoadSharingOptions) {
    this.#options = options;
  }

  /** Returns the claims that this node takes now. Queries the database only if another node could take some. */
  async choose(claims: readonly PlannedClaim[], nodes: readonly WatchedNode[]): Promise<PlannedClaim[]> {
    const { db, node, caps, now, wakeNodes } = this.#options;
    const free = claims.filter((claim) => !this.#isOverdue(claim) && claim.candidate.onlyNodeId === null);
    const others = nodes.filter((each) => this.#takesCommands(each));
    if (claims.length === 0 || others.length === 0) {
      this.#left.clear();
      return [...claims];
    }
    const loads = Map.groupBy(await listLoads(db), ({ nodeId }) => nodeId);
    const left = spreadClaims(
      free,
      loadOf(node, loads),
      others.map((each) => loadOf(each, loads)),
      ({ candidate }) => candidate.clusterCap ?? caps.perCluster,
    );
    const isNew = [...left.keys()].some((id) => !this.#left.has(id));
    for (const id of this.#left.keys()) if (!left.has(id)) this.#left.delete(id);
    for (const [id, nodeId] of left) if (!this.#left.has(id)) this.#left.set(id, { nodeId, at: now() });
    if (isNew) wakeNodes();
    return claims.filter(({ candidate }) => !left.has(candidate.id));
  }

  /** Whether another node should have taken the command by now; if so, that node is passed over. */
  #isOverdue({ candidate }: PlannedClaim): boolean {
    const now = this.#options.now();
    const left = this.#left.get(candidate.id);
    if (left === undefined || now - left.at < LEFT_FOR_MS) return false;
    this.#passedOver.set(left.nodeId, now + PASSED_OVER_MS);
    return true;
  }

  #takesCommands({ id, state, isSilent }: WatchedNode): boolean {
    const isPassedOver = (this.#passedOver.get(id) ?? -Infinity) > this.#options.now();
    return id !== this.#options.node.id && state === "active" && !isSilent && !isPassedOver;
  }
}

type LoadRow = Awaited<ReturnType<typeof listLoads>>[number];

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
    ofCluster: new Map(rows.map(({ clusterId, commands }) => [clusterId, commands])),
  };
}

/** The load of a node. */
export interface NodeLoad {
  readonly id: string;
  readonly budgetMiB: number;
  usedMiB: number;
  /** Commands by cluster. */
  readonly ofCluster: Map<number, number>;
}

/**
 * Returns the commands to leave to other nodes, with the id of the node. Changes the loads by all of the commands. This
 * node wins every tie, so a command on an idle installation starts at once if no other node has a larger budget. A query
 * whose warm server is here stays here until this node runs half as many commands as the cluster's cap allows, because
 * another node would have to start a server first.
 */
export function spreadClaims(
  claims: readonly PlannedClaim[],
  own: NodeLoad,
  others: readonly NodeLoad[],
  capOf: (claim: PlannedClaim) => number,
): ReadonlyMap<number, string> {
  const left = new Map<number, string>();
  for (const claim of claims) {
    const { clusterId, id } = claim.candidate;
    const running = ({ ofCluster }: NodeLoad): number => ofCluster.get(clusterId) ?? 0;
    const hasServer = claim.isShared && claim.memoryMiB === 0;
    const stays = hasServer && 2 * running(own) < capOf(claim);
    const able = others.filter(({ budgetMiB, usedMiB }) => !stays && usedMiB + claim.memoryMiB <= budgetMiB);
    const best = able.reduce((least, each) => (isLess(each, least, running) ? each : least), own);
    best.usedMiB += claim.memoryMiB;
    best.ofCluster.set(clusterId, running(best) + 1);
    if (best !== own) left.set(id, best.id);
  }
  return left;
}

/** Compares the commands of the cluster, then the memory, each in proportion to the budget. */
function isLess(one: NodeLoad, other: NodeLoad, running: (load: NodeLoad) => number): boolean {
  const commands = (load: NodeLoad): number => (running(load) + 1) / load.budgetMiB;
  const memory = (load: NodeLoad): number => load.usedMiB / load.budgetMiB;
  return (commands(one) - commands(other) || memory(one) - memory(other)) < 0;
}
