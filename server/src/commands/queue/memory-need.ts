import { invalid } from "../../lib/fault.ts";
import type { MemoryUse, RunnableKind } from "../execution/executor.ts";
import type { RunnableCommand } from "../store/command-row.ts";
import type { WatchedNode } from "./node-watch.ts";

/** Checks at submission how much memory a command needs. */
export interface MemoryNeed {
  /** Refuses a command that no node of the installation could ever start. */
  check(kind: RunnableKind, command: RunnableCommand, engineType: string): void;
}

/** For handlers: their services have it under this name. */
export interface WithMemoryNeed {
  memoryNeed: MemoryNeed;
}

export function memoryNeed(largestMiB: () => number): MemoryNeed {
  return {
    check({ memory }, command, engineType) {
      if (engineType === "connect") return; // it runs on a remote server
      const neededMiB = memory.reservedMiB(command);
      const largest = largestMiB();
      if (neededMiB <= largest) return;
      const limits = `needs ${neededMiB} MiB of memory, and the largest node has ${largest} MiB for commands`;
      throw invalid(fieldOf(command, memory), `${limits}: use a smaller driver memory`);
    },
  };
}

/** The field that decides how much the command needs. */
function fieldOf(command: RunnableCommand, { stated }: MemoryUse): string {
  const isStated = (command.statedMemoryMiB ?? 0) > 0;
  if (stated !== undefined && (isStated || (command.configuredHeap ?? null) === null)) return stated.field(command);
  return command.appId === null ? "label" : "app_id";
}

/**
 * The largest memory budget that a command could get in this installation. A node counts unless an operator has drained
 * it or its runs count as lost: a large node that is paused or restarting must not make commands fail. This node always
 * counts, so there is an answer before any node is registered. Pure.
 */
export function largestBudgetMiB(nodes: readonly WatchedNode[], ownMiB: number, lostAfterMs: number): number {
  const others = nodes.filter(({ state, silentMs }) => state !== "drained" && silentMs < lostAfterMs);
  return Math.max(ownMiB, ...others.map(({ memoryBudgetMiB }) => memoryBudgetMiB));
}

export function tooLargeCause(neededMiB: number, largestMiB: number): string {
  return `it needs ${neededMiB} MiB of memory, and the largest node has ${largestMiB} MiB for commands`;
}
