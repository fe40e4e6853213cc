import type { PlannedClaim } from "./claim-plan.ts";

/** The load of a node. */
export interface NodeLoad {
  readonly id: string;
  readonly budgetMiB: number;
  readonly usedMiB: number;
  readonly commands: number;
  /** Commands by cluster. */
  readonly ofCluster: ReadonlyMap<number, number>;
}

export interface SpreadClaims {
  /** The claims that this node takes now. */
  readonly own: readonly PlannedClaim[];
  /** The claims that are left to less loaded nodes, by the id of the command. */
  readonly left: ReadonlyMap<number, { readonly nodeId: string; readonly clusterId: number }>;
}

/**
 * Spreads the commands that this node could claim over the nodes that could take them: each goes to the node that runs
 * the fewest of the command's cluster for its budget, then to the one with the most memory free, then to the one with the
 * fewest commands. This node wins every tie, so a command on an idle installation starts at once. A query
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
