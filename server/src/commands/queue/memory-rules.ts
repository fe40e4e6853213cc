import type { Candidate } from "../store/claims.ts";
import { invalid } from "../../lib/fault.ts";
import type { MemoryUse, RunnableKind } from "../execution/executor.ts";
import type { RunnableCommand } from "../store/command-row.ts";
import type { WatchedNode } from "./heartbeats.ts";

/**
 * Why a command cannot take memory of this node now. `memory`: the memory is taken, reserved for another account, or
 * due first to another command of its own account. `share`: it would exceed its account's share. `node`: it needs more
 * than the node's budget.
 */
export type Shortage = "memory" | "share" | "node";

export interface NodeRoom {
  readonly budgetMiB: number;
  readonly shareMiB: number;
  /** All memory that is taken. */
  readonly usedMiB: number;
  /** The memory of running commands, by account. An account that runs commands without memory is listed with 0. */
  readonly usedBy: ReadonlyMap<number, number>;
}

/** After this time, a command holds back smaller ones of its own account. */
const PATIENCE_MS = 60_000;
/** After this time, memory is reserved for the command. */
const TURN_MS = 600_000;

/**
 * Which command may take memory of this node. `budget` is the node's, `share` the most that one account may take while
 * commands of another account run or wait here (`HEADGATE_ACCOUNT_MEMORY`).
 *
 * | the command needs | it starts when it fits into the free memory, and |
 * |---|---|
 * | no memory of its own | always |
 * | no more than is left of its account's share | always |
 * | more than that, and the account runs something here | no command of another account runs or waits here |
 * | more than the whole share, and the account runs nothing here | no command of another account runs or waits here; or after a minute, when none waits; or after ten minutes; or when nothing runs here |
 * | more than the budget | never here |
 *
 * | it has waited | then |
 * |---|---|
 * | a minute | no other command of its own account takes memory before it |
 * | ten minutes | the other accounts together leave it what it needs, up to its share: at least the rest of the node stays theirs |
 *
 * So a command within its share starts sooner or later, and no command prevents other accounts from starting theirs. A
 * larger command starts only when the other accounts leave enough memory.
 */
export class MemoryRules {
  readonly shortages = new Map<number, Shortage>();
  readonly #room: NodeRoom;
  readonly #waiting: ReadonlySet<number>;
  readonly #usedBy: Map<number, number>;
  #usedMiB: number;
  #missingMiB = 0;
  readonly #heldAccounts = new Set<number>();
  #reservation: { readonly accountId: number; readonly memoryMiB: number } | undefined;
  #firstOverShare: { readonly candidate: Candidate; readonly memoryMiB: number } | undefined;

  /** `waiting`: accounts with a command that could start now if there is memory. */
  constructor(room: NodeRoom, waiting: Iterable<number>) {
    this.#room = room;
    this.#waiting = new Set(waiting);
    this.#usedBy = new Map(room.usedBy);
    this.#usedMiB = room.usedMiB;
  }

  /** How much memory is missing for the first command that waits only for free memory; 0: no command does. */
  get missingMiB(): number {
    return this.#missingMiB;
  }

  /** Undefined: it may start. */
  shortageOf(candidate: Candidate, memoryMiB: number, waitedMs: number): Shortage | undefined {
    if (memoryMiB === 0) return undefined;
    const shortage = this.#shortage(candidate, memoryMiB, waitedMs);
    if (shortage === undefined) return undefined;
    this.shortages.set(candidate.id, shortage);
    if (shortage === "node") return shortage;
    if (shortage === "share") this.#firstOverShare ??= { candidate, memoryMiB };
    const { accountId } = candidate;
    if (waitedMs >= PATIENCE_MS) this.#heldAccounts.add(accountId);
    if (waitedMs >= TURN_MS) {
      this.#reservation ??= { accountId, memoryMiB: Math.min(memoryMiB, this.#room.shareMiB) };
    }
    return shortage;
  }

  take(accountId: number, memoryMiB: number): void {
    this.#usedMiB += memoryMiB;
    this.#usedBy.set(accountId, this.#used(accountId) + memoryMiB);
  }

  /** If nothing runs here and nothing was taken, the first command above its share may start. */
  firstIfIdle(): Candidate | undefined {
    const first = this.#firstOverShare;
    if (first === undefined || this.#usedBy.size > 0) return undefined;
    const missingMiB = this.#usedMiB + first.memoryMiB - this.#room.budgetMiB;
    if (missingMiB > 0) {
      this.#missingMiB ||= missingMiB; // taken by unused servers, which can be evicted
      return undefined;
    }
    this.shortages.delete(first.candidate.id);
    return first.candidate;
  }

  #shortage(candidate: Candidate, memoryMiB: number, waitedMs: number): Shortage | undefined {
    const { budgetMiB } = this.#room;
    if (memoryMiB > budgetMiB) return "node";
    const { accountId } = candidate;
    if (this.#heldAccounts.has(accountId)) return "memory";
    if (this.#isOverShare(accountId, memoryMiB, waitedMs)) return "share";
    if (this.#usedMiB + memoryMiB > budgetMiB) {
      this.#missingMiB ||= this.#usedMiB + memoryMiB - budgetMiB;
      return "memory";
    }
    return this.#isReserved(accountId, memoryMiB) ? "memory" : undefined;
  }

  #isOverShare(accountId: number, memoryMiB: number, waitedMs: number): boolean {
    const { shareMiB } = this.#room;
    const usedMiB = this.#used(accountId);
    if (usedMiB + memoryMiB <= shareMiB) return false;
    const isOther = (other: number): boolean => other !== accountId;
    const othersWait = [...this.#waiting].some(isOther);
    const othersRun = [...this.#usedBy.keys()].some(isOther);
    if (!othersWait && !othersRun) return false;
    if (usedMiB > 0) return true;
    return waitedMs < TURN_MS && (othersWait || waitedMs < PATIENCE_MS);
  }

  /** Whether the memory is reserved for the account of the first examined command that has waited ten minutes. */
  #isReserved(accountId: number, memoryMiB: number): boolean {
    const reserved = this.#reservation;
    if (reserved === undefined || reserved.accountId === accountId) return false;
    const usedByOthers = this.#usedMiB - this.#used(reserved.accountId);
    return usedByOthers + memoryMiB > this.#room.budgetMiB - reserved.memoryMiB;
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
