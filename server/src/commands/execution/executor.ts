import type { AttemptFiles } from "./command-files.ts";
import type { RunnableCommand } from "../store/command-row.ts";
import type { ResultTable } from "./query-schema.ts";

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
export interface Executor {
  /** Why such a command cannot start on this node now, for people; null: it can. */
  unready(command: CommandCluster): string | null;
  /** It starts even when the disk of the node is nearly full or its account is above its quota. */
  readonly needsNoDisk?: boolean;
  /** Two runs of it are as good as one: what its node has lost is begun again, by whichever node. */
  readonly isRestartable?: boolean;
  /** With `signal` aborted it need not go on; it may reject then, and must have left nothing half done. */
  prepare(run: CommandRun, signal: AbortSignal): Promise<PreparedRun>;
  /** By the handle stored for it, on the node that stored it. */
  adopt(run: CommandRun, handle: unknown): Promise<LiveRun>;
  /** After its end is stored: takes away what nobody will ask for. */
  tidy(run: CommandRun): Promise<void>;
}

export interface PreparedRun {
  spawn(): Promise<LiveRun>;
}

export interface LiveRun {
  /** JSON: all that `adopt` needs besides the run. */
  readonly handle: unknown;
  /** Lets it begin; what has begun already goes on. */
  begin(): Promise<void>;
  /** Never fails because of what the program wrote. */
  look(): Promise<RunState>;
  /** Settles when something may have changed, or after about a second. */
  changed(signal: AbortSignal): Promise<void>;
  /** Settles when nothing of it is left running; `look` then says how it ended. */
  stop(): Promise<void>;
  /** We stop and it goes on: what of it is in this process lets go of it, for whoever adopts it. */
  leave?(): void;
}

export type RunState =
  { readonly state: "running"; readonly pid: number | null; readonly progress: number } | RunOutcome;

export type RunOutcome =
  | {
      readonly state: "ended";
      /**
       * `disk-full`: it failed because of that; what it has taken is given back before anything else. `terminated`: with
       * its cluster.
       */
      readonly kind: "succeeded" | "failed" | "disk-full" | "timed-out" | "cancelled" | "refused" | "terminated";
      readonly exitCode: number | null;
      /** For a person, one line; null when it succeeded. */
      readonly cause: string | null;
      readonly outputBytes: number;
      readonly logBytes: number;
      /** What a result with columns is made of. */
      readonly resultTable?: ResultTable;
    }
  /** It is gone and has left no word: it may have done all of its work or none. */
  | { readonly state: "lost"; readonly cause: string }
  /** It is gone and certainly never began. */
  | { readonly state: "never-began" };

/** Where it runs. */
export type CommandCluster = Pick<RunnableCommand, "accountId" | "clusterId">;

/** What the queue knows about a kind of command. */
export interface RunnableKind {
  readonly name: string;
  /** False: it runs whatever state its cluster is in, and starts no cluster. */
  readonly needsCluster: boolean;
  /** Where nothing isolates accounts from each other, only the operators' account may run it. */
  readonly runsUsersCode: boolean;
  readonly memory: MemoryUse;
  readonly executor: Executor;
}

export interface MemoryUse {
  /** What the node's budget must have left for the command, and is charged with while it runs. */
  reservedMiB(command: RunnableCommand): number;
  /** What the command's own words ask for. Absent: they cannot ask for memory. */
  readonly stated?: StatedMemory;
  /**
   * Commands with the same key run in one process, whose memory the node counts once and by itself. Absent: each command
   * is charged with its own.
   */
  sharedBy?(command: RunnableCommand): string;
}

export interface StatedMemory {
  /** `text`: the text of its script. Undefined: the words ask for nothing. */
  miB(command: RunnableCommand, text: string | null): number | undefined;
  /** The field of the submission that has the words. */
  field(command: RunnableCommand): string;
}

export type RunnableKindOf = (command: RunnableCommand) => RunnableKind;

export interface CommandRun {
  readonly command: RunnableCommand;
  /** The program with its macros filled in; null for types without one. */
  readonly programText: string | null;
  readonly requestId: string;
  readonly attempt: number;
  readonly fence: number;
  readonly timeoutSeconds: number;
  /** Since the start of the first attempt, at the moment it is asked. */
  readonly elapsedSeconds: number;
  readonly files: AttemptFiles;
}
