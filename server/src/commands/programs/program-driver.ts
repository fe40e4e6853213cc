import { Fault } from "../../lib/fault.ts";
import type { AttemptFiles } from "../execution/command-files.ts";
import type { FoldersInside } from "../execution/confine-run.ts";
import type { DescribeFailure } from "../execution/runner-run.ts";
import type { SparkScope } from "../execution/spark-scope.ts";
import type { CommandRun } from "../execution/executor.ts";
import type { RunnableCommand } from "../store/command-row.ts";

/** Turns a program into the command line of a process: Spark's driver, or a stub in tests. */
export interface ProgramDriver {
  /** Why no program can start on this node now; null: programs can start. */
  unready(): string | null;
  memoryMiB(command: RunnableCommand): number;
  /** The memory that the options of the command, or its script `text`, ask for; undefined: none. */
  statedMemoryMiB(command: RunnableCommand, text: string | null): number | undefined;
  /** `onWait` is called with what the program waits for, as text for users. */
  commandLine(run: CommandRun, folders: DriverFolders, onWait?: (text: string) => void): Promise<DriverLaunch>;
  /** A driver that waits for a program of the scope. Undefined: the scope can have none. */
  standby?(scope: SparkScope, folders: Pick<DriverFolders, "work" | "input">): Promise<StandbyLaunch | undefined>;
  /** Absent: failures are described by their exit codes. */
  readonly describeFailure?: DescribeFailure;
  /** Returns a function that reads the progress, in percent, from the files of the attempt. */
  followProgress(files: AttemptFiles, accountId: number): () => Promise<number>;
}

/** The folders of the attempt, as the program sees them. `DriverLaunch.files` are in `input`. */
export interface DriverFolders extends FoldersInside {
  readonly applicationId: string;
}

interface DriverLaunch {
  readonly argv: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** By name: written into `input`, mode 0600, for the program's user alone. Secrets belong here. */
  readonly files: Readonly<Record<string, string>>;
  /** Paths that it must see besides its own folders and the system's programs. */
  readonly readOnly: readonly string[];
  /** Lines that the command's log shows before the output of the program. */
  readonly notes?: readonly string[];
  /** The memory that it takes, if that is known more exactly than by `ProgramDriver.memoryMiB`. */
  readonly memoryMiB?: number;
  /** How a standby driver can run the same program; undefined: it cannot. */
  readonly handOver?: HandOver | undefined;
}

export interface HandOver {
  /** The digest of the contributions that the standby driver was started with. */
  readonly digest: string;
  /** The generation of the app; absent: 0. */
  readonly generation?: number | undefined;
  /** The order to run the program, for the driver's standard input. */
  readonly input: string;
}

export interface StandbyLaunch extends Omit<DriverLaunch, "handOver" | "notes"> {
  readonly digest: string;
  /** The generation of the app; absent: 0. */
  readonly generation?: number | undefined;
  /** The line that it writes when it is ready to take a program. */
  readonly greeting: string;
  readonly memoryMiB: number;
}

/** For a node without Spark: its programs wait. */
export const noDriver: ProgramDriver = {
  unready: () => "Spark is not set up on this node",
  memoryMiB: () => 0,
  statedMemoryMiB: () => undefined,
  commandLine: () => Promise.reject(new Fault("unavailable", "Spark is not set up on this node")),
  followProgress: () => () => Promise.resolve(0),
};
