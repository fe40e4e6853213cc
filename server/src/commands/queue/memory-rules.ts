/**
 * Which command may take memory of this node: the rules "share" and "next" of `docs/command-states.md`.
 *
 * - A command starts when its memory is free and its account stays within its share of the node. The account may exceed
 *   its share while no other account runs commands or waits for its share here; if others only run, with a single command
 *   that has waited a minute.
 * - A command that has waited a minute for memory is next: the other accounts leave it what it needs, up to its share, and
 *   no other command of its account takes memory before it.
 *
 * So a command within the share starts sooner or later. A larger one depends on the other accounts: while they use too
 * much for it, it delays no command.
 */
import type { Candidate } from "../store/claims.ts";
import { invalid } from "../../lib/fault.ts";
import type { MemoryUse, RunnableKind } from "../execution/executor.ts";
import type { RunnableCommand } from "../store/command-row.ts";
import type { WatchedNode } from "./heartbeats.ts";

/**
 * Why a command cannot take memory of this node now. `memory`: too little is free. `share`: its account would exceed its
 * share. `next`: another command is next. `node`: it needs more than the node's budget.
 */
export type Shortage = "memory" | "share" | "next" | "node";

export interface NodeRoom {
  readonly budgetMiB: number;
  /** The share of an account. */
  readonly shareMiB: number;
  /** All memory that is taken. */
  readonly usedMiB: number;
  /** The memory of running commands, by account. An account that runs commands without memory is listed with 0. */
  readonly usedBy: ReadonlyMap<number, number>;
}

const NEXT_AFTER_MS = 60_000;

/** Judges the commands that could start on this node, in the order of their turns. */
export class MemoryRules {
  readonly shortages = new Map<number, Shortage>();
  readonly #room: NodeRoom;
  readonly #waiting: readonly number[];
  readonly #usedBy: Map<number, number>;
  #usedMiB: number;
  #missingMiB = 0;
  /** What the other accounts leave to a command that is next, by its account. */
  readonly #next = new Map<number, number>();

  /** `waiting`: the accounts that wait for their share. */
  constructor(room: NodeRoom, waiting: readonly number[]) {
    this.#room = room;
    this.#waiting = waiting;
    this.#usedBy = new Map(room.usedBy);
    this.#usedMiB = room.usedMiB;
  }

  /** How much memory is missing for the first command that waits only for free memory; 0: no command does. */
  get missingMiB(): number {
    return this.#missingMiB;
  }

  /** Undefined: it may start. */
  shortageOf({ id, accountId }: Candidate, memoryMiB: number, waitedMs: number): Shortage | undefined {
    if (memoryMiB === 0) return undefined;
    const shortage = this.#shortage(accountId, memoryMiB, waitedMs >= NEXT_AFTER_MS);
    if (shortage !== undefined) this.shortages.set(id, shortage);
    return shortage;
  }

  take(accountId: number, memoryMiB: number): void {
    this.#usedMiB += memoryMiB;
    this.#usedBy.set(accountId, this.#used(accountId) + memoryMiB);
  }

  #shortage(accountId: number, memoryMiB: number, hasWaited: boolean): Shortage | undefined {
    const { budgetMiB, shareMiB } = this.#room;
    if (memoryMiB > budgetMiB) return "node";
    const isBeyondShare = this.#used(accountId) + memoryMiB > shareMiB && !this.#mayExceedShare(accountId, hasWaited);
    const missingMiB = Math.max(0, this.#usedMiB + memoryMiB - budgetMiB);
    if (!isBeyondShare && missingMiB === 0 && !this.#isBehindNext(accountId, memoryMiB)) return undefined;
    if (!isBeyondShare) this.#missingMiB ||= missingMiB;
    const mayBeNext = memoryMiB <= shareMiB || this.#othersLeave(accountId, memoryMiB);
    if (hasWaited && mayBeNext && !this.#next.has(accountId)) this.#next.set(accountId, Math.min(memoryMiB, shareMiB));
    if (isBeyondShare) return "share";
    return missingMiB > 0 ? "memory" : "next";
  }

  #mayExceedShare(accountId: number, hasWaited: boolean): boolean {
    const isOther = (other: number): boolean => other !== accountId;
    if (this.#waiting.some(isOther)) return false;
    return ![...this.#usedBy.keys()].some(isOther) || (hasWaited && this.#used(accountId) === 0);
  }

  /** If commands of several accounts are next, the other accounts leave memory to the first of them only. */
  #isBehindNext(accountId: number, memoryMiB: number): boolean {
    if (this.#next.has(accountId)) return true;
    const [first] = this.#next;
    if (first === undefined) return false;
    const [nextAccountId, nextMiB] = first;
    return !this.#othersLeave(nextAccountId, nextMiB + memoryMiB);
  }

  /** Whether the account could use so much memory, all its commands together. */
  #othersLeave(accountId: number, memoryMiB: number): boolean {
    return this.#usedMiB - this.#used(accountId) + memoryMiB <= this.#room.budgetMiB;
  }

  #used(accountId: number): number {
    return this.#usedBy.get(accountId) ?? 0;
  }
}

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
      throw invalid(
        fieldOf(command, memory),
        `needs ${neededMiB} MiB of memory, and the largest node has ${largest} MiB for commands: use a smaller driver memory`,
      );
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
