/**
 * Which command may take memory of this node: the rules "share" and "next" of `docs/command-states.md`.
 *
 * - A command starts when its memory is free and its account stays within its share of the node. The account may exceed
 *   its share while no other account runs commands or waits for its share here; while others run commands but none waits,
 *   it may do so with one command that has waited a minute, if it uses no other memory here.
 * - A command that has waited a minute for memory is next if the warm servers that its account uses leave it room in the
 *   share, or if it could start beside only them: no other command of its account takes memory before it. If it also fits
 *   into the share beside all that its account runs, the other accounts leave its memory free.
 *
 * So a command that fits into the share beside its account's warm servers starts sooner or later, whatever other accounts
 * submit. A larger one depends on them, and holds up only its lane while it could not start anyway.
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
  /** The part of `usedBy` that is the memory of warm servers: queries may follow one another on them without a gap. */
  readonly serversBy: ReadonlyMap<number, number>;
  /** The keys of shared processes that are not started yet; their memory is taken already. */
  readonly opening: ReadonlySet<string>;
}

const NEXT_AFTER_MS = 60_000;

/** The first command of a lane that this node could run, if it had the memory. */
export interface LaneHead {
  readonly candidate: Candidate;
  readonly memoryMiB: number;
  /** How long it has waited for memory. */
  readonly waitedMs: number;
}

/** Decides whether commands may take memory of this node, in the order of their turns. */
export class MemoryRules {
  readonly shortages = new Map<number, Shortage>();
  readonly #room: NodeRoom;
  /** The accounts that wait for their share. */
  readonly #waiting: ReadonlySet<number>;
  readonly #usedBy: Map<number, number>;
  #usedMiB: number;
  #missingMiB = 0;
  /** The command of an account that is next, the one that has been due longest first. */
  readonly #next = new Map<number, LaneHead>();

  constructor(room: NodeRoom, heads: readonly LaneHead[]) {
    this.#room = room;
    this.#usedBy = new Map(room.usedBy);
    this.#usedMiB = room.usedMiB;
    const needing = heads.filter(({ memoryMiB }) => memoryMiB > 0);
    // They were refused before, although their accounts would stay within their shares.
    const waiting = needing.filter((head) => head.waitedMs > 0 && this.#fitsShare(this.#neededMiB(head)));
    this.#waiting = new Set(waiting.map(({ candidate }) => candidate.accountId));
    const next = needing.filter((head) => head.waitedMs >= NEXT_AFTER_MS && this.#couldStartBesideServers(head));
    next.sort((one, other) => compareDue(one.candidate, other.candidate));
    for (const head of next) {
      const { accountId } = head.candidate;
      if (!this.#next.has(accountId)) this.#next.set(accountId, head);
    }
  }

  /** How much memory is missing for the first command that waits only for free memory; 0: no command does. */
  get missingMiB(): number {
    return this.#missingMiB;
  }

  /** Undefined: it may start. */
  shortageOf({ id, accountId }: Candidate, memoryMiB: number, waitedMs: number): Shortage | undefined {
    if (memoryMiB === 0) return undefined;
    const shortage = this.#shortage(id, accountId, memoryMiB, waitedMs >= NEXT_AFTER_MS);
    if (shortage !== undefined) this.shortages.set(id, shortage);
    return shortage;
  }

  take({ id, accountId }: Candidate, memoryMiB: number): void {
    this.#usedMiB += memoryMiB;
    this.#usedBy.set(accountId, this.#used(accountId) + memoryMiB);
    if (this.#next.get(accountId)?.candidate.id === id) this.#next.delete(accountId);
  }

  #shortage(id: number, accountId: number, memoryMiB: number, hasWaited: boolean): Shortage | undefined {
    const { budgetMiB, shareMiB } = this.#room;
    if (memoryMiB > budgetMiB) return "node";
    const usedMiB = this.#used(accountId);
    if (usedMiB + memoryMiB > shareMiB && !this.#mayExceedShare(accountId, usedMiB, hasWaited)) return "share";
    const missingMiB = Math.max(0, this.#usedMiB + memoryMiB - budgetMiB);
    this.#missingMiB ||= missingMiB;
    if (missingMiB > 0) return "memory";
    return this.#isBeforeNext(id, accountId, memoryMiB) ? "next" : undefined;
  }

  /** `usedMiB`: the memory that the account uses already. */
  #mayExceedShare(accountId: number, usedMiB: number, hasWaited: boolean): boolean {
    if (this.#othersWait(accountId)) return false;
    const isAlone = this.#usedBy.size === (this.#usedBy.has(accountId) ? 1 : 0);
    return isAlone || (hasWaited && usedMiB === 0);
  }

  /** Whether it could start once its account's programs have ended. If it is within the share, others make room for it. */
  #couldStartBesideServers({ candidate: { accountId }, memoryMiB }: LaneHead): boolean {
    const serversMiB = this.#room.serversBy.get(accountId) ?? 0;
    if (this.#fitsShare(serversMiB + memoryMiB)) return true;
    return this.#mayExceedShare(accountId, serversMiB, true) && this.#othersLeave(accountId, serversMiB + memoryMiB);
  }

  /**
   * Whether it would overtake the next command of its own account, or take memory that is left free for the next command
   * of another account.
   */
  #isBeforeNext(id: number, accountId: number, memoryMiB: number): boolean {
    const own = this.#next.get(accountId);
    if (own !== undefined && own.candidate.id !== id) return true;
    // If commands of several accounts are next, the other accounts leave memory to the first of them only.
    const first = [...this.#next.values()].find((head) => this.#fitsShare(this.#neededMiB(head)));
    if (first === undefined || first.candidate.accountId === accountId) return false;
    return !this.#othersLeave(first.candidate.accountId, this.#neededMiB(first) + memoryMiB);
  }

  /** Whether an account may use so much memory whatever others do. A share may be larger than the node. */
  #fitsShare(memoryMiB: number): boolean {
    return memoryMiB <= Math.min(this.#room.shareMiB, this.#room.budgetMiB);
  }

  /** What the account of a command needs to run it beside those that run. */
  #neededMiB({ candidate, memoryMiB }: LaneHead): number {
    return this.#used(candidate.accountId) + memoryMiB;
  }

  /** Whether the account could use so much memory, all its commands together. */
  #othersLeave(accountId: number, memoryMiB: number): boolean {
    return this.#usedMiB - this.#used(accountId) + memoryMiB <= this.#room.budgetMiB;
  }

  #othersWait(accountId: number): boolean {
    return this.#waiting.size > (this.#waiting.has(accountId) ? 1 : 0);
  }

  #used(accountId: number): number {
    return this.#usedBy.get(accountId) ?? 0;
  }
}

/** The command that has been due longest comes first. */
export function compareDue(one: Candidate, other: Candidate): number {
  return one.dueAt.getTime() - other.dueAt.getTime() || one.id - other.id;
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
