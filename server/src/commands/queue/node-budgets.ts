import type { WatchedNode } from "./node-watch.ts";

/**
 * The largest memory budget that a command could get in this installation. A node counts unless an operator has drained
 * it or its runs count as lost: a large node that is paused or starts again must not make commands fail. This node counts
 * always, so there is an answer before any node is registered. Pure.
 */
export function largestBudgetMiB(nodes: readonly WatchedNode[], ownMiB: number, lostAfterMs: number): number {
  const others = nodes.filter(({ state, silentMs }) => state !== "drained" && silentMs < lostAfterMs);
  return Math.max(ownMiB, ...others.map(({ memoryBudgetMiB }) => memoryBudgetMiB));
}

/** For people. */
export function tooLargeCause(neededMiB: number, largestMiB: number): string {
  return `it needs ${neededMiB} MiB of memory, and the largest node has ${largestMiB} MiB for commands`;
}
