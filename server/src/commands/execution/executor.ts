/**
 * How a kind of command runs. The queue decides what runs and when, and writes every state; an executor turns a claimed
 * command into something that runs, finds it again after a restart, and says how it ended.
 *
 * | step | what is certain after a crash |
 * |---|---|
 * | `prepare` | nothing runs: the command is claimed again freely |
 * | `spawn` | the handle is not stored: what was spawned must end by itself without having begun |
 * | (handle stored) | `begin` was perhaps not called: `adopt` begins what has not begun |
 * | `begin` | it runs: `adopt` finds it, or finds out how it ended, or it is lost |
 */
import type { AttemptFiles } from "./command-files.ts";
import type { RunnableCommand } from "../store/command-row.ts";
import { isDiskFullError } from "../../processes/runner/disk-full.ts";
import { Fault } from "../../lib/fault.ts";

export interface Executor {
  /** Why such a command cannot start on this node now, as text for users; null: it can. */
  unready(command: CommandCluster): string | null;
  /** A command starts even if the node's disk is nearly full or its account is above its quota. */
  readonly needsNoDisk?: boolean;
  /** Later attempts continue what the first has left on its node, so no other node may run them. */
  readonly localState?: LocalState;
  /** A command may safely run twice: when its node is lost, any node begins it again. */
  readonly isRestartable?: boolean;
  /** When `signal` is aborted, it may stop and reject, but must not leave anything half done. */
  prepare(run: CommandRun, signal: AbortSignal): Promise<PreparedRun>;
  /** Finds the run again by its stored handle, on the node that stored it. */
  adopt(run: CommandRun, handle: unknown): Promise<LiveRun>;
  /** Called after the end of the run is stored: removes the files that are not needed any more. */
  tidy(run: CommandRun): Promise<void>;
}

export interface LocalState {
  /** What the first attempt leaves on its node, as in "which has the journal of the copy". */
  readonly description: string;
  /** What users do when that node is gone, as a sentence without its full stop. */
  readonly remedy: string;
}

export interface PreparedRun {
  spawn(): Promise<LiveRun>;
}

export interface LiveRun {
  /** JSON: all that `adopt` needs besides the run. */
  readonly handle: unknown;
  /** Does nothing if it has begun already. */
  begin(): Promise<void>;
  /** Never fails because of what the program wrote. */
  poll(): Promise<RunState>;
  /** Settles when something may have changed, or after about a second. */
  changed(signal: AbortSignal): Promise<void>;
  /** Settles when nothing of it is left running; `poll` then returns how it ended. */
  stop(): Promise<void>;
  /** Called when this server stops and the run goes on: releases its resources here, so that the next server can adopt it. */
  leave?(): void;
}

export type RunState =
  | { readonly state: "running"; readonly pid: number | null; readonly progress: number }
  | RunOutcome;

export type RunOutcome =
  | {
      readonly state: "ended";
      /**
       * `disk-full`: it failed because the disk is full; its files are removed before anything else happens.
       * `terminated`: the node ended it, because its cluster was terminated or its account is above the disk quota.
       */
      readonly kind: "succeeded" | "failed" | "disk-full" | "timed-out" | "cancelled" | "refused" | "terminated";
      readonly exitCode: number | null;
      /** One line of text for users; null when it succeeded. */
      readonly cause: string | null;
      readonly outputBytes: number;
      readonly logBytes: number;
      /** The query and the columns of the result, where it has columns. */
      readonly resultTable?: ResultTable;
    }
  /** It disappeared without a report: it may have done all of its work or none. */
  | { readonly state: "lost"; readonly cause: string }
  /** It certainly never began, and nothing of it runs. `isOutage`: only because the database was unavailable. */
  | { readonly state: "never-began"; readonly isOutage?: boolean };

/** A statement that returned rows, and their columns. */
export interface ResultTable {
  readonly query: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

/** The cluster that a command runs on. */
export type CommandCluster = Pick<RunnableCommand, "accountId" | "clusterId">;

/** The part of a kind of command that the queue uses. */
export interface RunnableKind {
  readonly name: string;
  /** False: it runs whatever state its cluster is in, and starts no cluster. */
  readonly needsCluster: boolean;
  /** Whether only the operators' account may run it on a machine without isolation. */
  readonly runsUsersCode: boolean;
  readonly memory: MemoryUse;
  readonly executor: Executor;
}

export interface MemoryUse {
  /** The memory that is reserved in the node's budget while the command runs. */
  reservedMiB(command: RunnableCommand): number;
  /** The memory that the command's own options ask for. Absent: the kind has no such options. */
  readonly stated?: StatedMemory;
  /**
   * Commands with the same key run in one process, whose memory counts once. Absent: the memory of each command counts.
   */
  sharedBy?(command: RunnableCommand): string;
}

interface StatedMemory {
  /** `text`: the text of its script. Undefined: the command does not ask for memory. */
  miB(command: RunnableCommand, text: string | null): number | undefined;
  /** The field of the submission that asks for it. */
  field(command: RunnableCommand): string;
}

export type RunnableKindOf = (command: RunnableCommand) => RunnableKind;

/** One attempt to run a command. */
export interface CommandRun {
  readonly command: RunnableCommand;
  /** The program with its macros filled in; null for types without one. */
  readonly programText: string | null;
  readonly requestId: string;
  readonly attempt: number;
  readonly fence: number;
  readonly timeoutSeconds: number;
  /** Since the start of the first attempt; grows while the run lasts. */
  readonly elapsedSeconds: number;
  readonly files: AttemptFiles;
}

export type EndedOutcome = Extract<RunOutcome, { state: "ended" }>;

export const SUCCEEDED: EndedOutcome = {
  state: "ended",
  kind: "succeeded",
  exitCode: 0,
  cause: null,
  outputBytes: 0,
  logBytes: 0,
};

export function ended(kind: EndedOutcome["kind"], cause: string): EndedOutcome {
  return { state: "ended", kind, exitCode: null, cause, outputBytes: 0, logBytes: 0 };
}

export const CANCELLED = ended("cancelled", "cancelled");

export function timedOut(timeoutSeconds: number): EndedOutcome {
  return ended("timed-out", `timed out: the timeout is ${timeoutSeconds} s, counted from the first attempt`);
}

export function failed(cause: string): EndedOutcome {
  return { ...ended("failed", cause), exitCode: 1 };
}

/**
 * Seconds from the first start to the check that ends the command: check k falls at k × `checkSeconds`, and the first
 * one at or after the timeout counts (§4.2: 80 s are over at 120 s).
 */
export function timeoutCheckAt(timeoutSeconds: number, checkSeconds: number): number {
  return Math.ceil(timeoutSeconds / checkSeconds) * checkSeconds;
}

/** The outcome of a run that could not start, with a cause for the user who submitted it. */
export function explainFailure(error: unknown): RunOutcome {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const kind = error instanceof Fault && error.code === "invalid" ? "refused" : "failed";
  const cause = CAUSES[code] ?? (error instanceof Fault ? error.publicMessage : "it could not be started");
  return isDiskFullError(error) ? notStartedForDisk : { ...notStarted, kind, cause };
}

const notStarted = { state: "ended", exitCode: null, outputBytes: 0, logBytes: 0 } as const;

export const notStartedForDisk: RunOutcome = {
  ...notStarted,
  kind: "disk-full",
  cause: "the disk is full: it could not be started",
};

const CAUSES: Readonly<Record<string, string | undefined>> = {
  ENOMEM: "the machine is out of memory",
  EAGAIN: "the machine has no room for another process",
};
