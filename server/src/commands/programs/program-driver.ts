import { Fault } from "../../lib/fault.ts";
import type { AttemptFiles } from "../execution/command-files.ts";
import type { SparkPlace } from "../execution/spark-place.ts";
import type { CommandRun } from "../execution/executor.ts";
import type { RunnableCommand } from "../store/command-row.ts";

/**
 * What turns a program into the command line of a process: Spark's driver, or in tests a program that stands in for it.
 */
export interface ProgramDriver {
  /** Why no program can start on this node now; null: one can. */
  unready(): string | null;
  memoryMiB(command: RunnableCommand): number;
  /** What the command's own words ask for, with the text of its script; undefined: nothing. */
  statedMemoryMiB(command: RunnableCommand, text: string | null): number | undefined;
  commandLine(run: CommandRun, folders: DriverFolders): Promise<DriverLaunch>;
  /** One that waits for a program of the place; undefined: there is none. */
  standby?(place: SparkPlace, folders: Pick<DriverFolders, "work" | "input">): Promise<StandbyLaunch | undefined>;
  /** Reads in percent, from what the driver leaves in its attempt's files. */
  followProgress(files: AttemptFiles, accountId: number): () => Promise<number>;
}

/** Folders of the attempt, as the program sees them. */
export interface DriverFolders {
  /** The current folder, writable. */
  readonly work: string;
  /** Where `DriverLaunch.files` will be; read-only. */
  readonly input: string;
  readonly eventLogFolder: string;
  readonly applicationId: string;
}

export interface DriverLaunch {
  readonly argv: readonly string[];
  /** All of it. */
  readonly env: Readonly<Record<string, string>>;
  /** By name: written into `input`, mode 0600, for the program's user alone. Secrets belong here. */
  readonly files: Readonly<Record<string, string>>;
  /** What it must see besides its own folders and the system's programs. */
  readonly readOnly: readonly string[];
  /** Lines that the command's log shows before the output of the program. */
  readonly notes?: readonly string[];
  /** What it takes of the node's memory, where that is known better now than before; absent: as `memoryMiB` says. */
  readonly memoryMiB?: number;
  /** How a driver that waits does exactly the same; undefined: none does. */
  readonly handOver?: HandOver | undefined;
}

export interface HandOver {
  /** Of what shaped the one that waits. */
  readonly digest: string;
  /** The generation of the app; absent: 0. */
  readonly generation?: number | undefined;
  /** What it is told on its standard input. */
  readonly input: string;
}

export interface StandbyLaunch extends Omit<DriverLaunch, "handOver" | "notes"> {
  readonly digest: string;
  /** The generation of the app; absent: 0. */
  readonly generation?: number | undefined;
  /** What it writes first, when it waits. */
  readonly greeting: string;
  readonly memoryMiB: number;
}

/** Where nothing is set up to run programs: they wait. */
export const noDriver: ProgramDriver = {
  unready: () => "Spark is not set up on this node",
  memoryMiB: () => 0,
  statedMemoryMiB: () => undefined,
  commandLine: () => Promise.reject(new Fault("unavailable", "Spark is not set up on this node")),
  followProgress: () => () => Promise.resolve(0),
};
