/**
 * The processes of warm servers and their folders. Each local server has a folder below that of its account, with a record
 * by which it is found again after a restart. A remote server has neither a process nor a folder here.
 */
import { ConnectServer, remoteServer, type RunningServer } from "../../engines/connect-server/connect-server.ts";
import type { LastingTerms } from "../../processes/lasting-process/lasting-process.ts";
import { type Contribution, NOTHING_CONTRIBUTED } from "../../engines/spark-home/contribution.ts";
import type { SparkSetUp } from "../../engines/spark-home/spark-set-up.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { accountIdentity, accountRoster } from "../execution/command-files.ts";
import { newServerName, remoteServerName, serverFolders, type ServerRecord } from "./server-record.ts";
import type { SparkScope } from "../execution/spark-scope.ts";
import { heapMiB } from "../../engines/connect-server/connect-command-line.ts";

export interface ServerProcessesOptions extends LastingTerms {
  readonly dataDir: string;
  readonly spark: Pick<SparkSetUp, "current">;
  readonly log: Log;
  readonly openProcess?: (folder: string) => ServerProcess;
}

export type ServerProcess = RunningServer & Pick<ConnectServer, "start">;

export interface OpenedServer {
  readonly name: string;
  readonly record: ServerRecord;
  readonly process: RunningServer;
  /** Settles when its process was started; it may not answer yet. */
  readonly started: Promise<void>;
  /** Statements to run when it is idle for the first time. Absent: none. */
  readonly warmUp?: Contribution["warmUp"];
}

/** <data>/accounts/<account>/spark/<name>: the folders that the account's user has to pass. */
const LEVELS = 3;

export class ServerProcesses {
  readonly #options: ServerProcessesOptions;
  readonly #folders: ReturnType<typeof serverFolders>;

  constructor(options: ServerProcessesOptions) {
    this.#options = options;
    this.#folders = serverFolders(options.dataDir);
  }

  /** Finds the servers that were left running, and removes what is left of those that have ended. */
  async recover(take: (found: OpenedServer) => void): Promise<void> {
    const takeStarted = (found: Omit<OpenedServer, "started">): void => take({ ...found, started: Promise.resolve() });
    await this.#folders.recover((path) => this.#process(path), takeStarted, this.#options.log);
  }

  /** Starts a server for the scope, or connects to the remote one that its cluster names. */
  open(scope: SparkScope, contribution: Contribution, digest: string): OpenedServer {
    const { remote, generation = 0 } = contribution;
    const memoryMiB = remote === undefined ? serverMemoryMiB(contribution) : 0;
    const record: ServerRecord = { version: 1, place: scope, digest, memoryMiB, generation };
    if (remote === undefined) return this.#start(record, contribution);
    const started = Promise.resolve();
    return { name: remoteServerName(scope, digest), record, process: remoteServer(remote), started };
  }

  #start(record: ServerRecord, contribution: Contribution): OpenedServer {
    const spark = this.#options.spark.current();
    if (spark.state !== "ready") throw new Fault("unavailable", "Spark is not set up on this node");
    const { place: scope, digest, memoryMiB } = record;
    const { accountId } = scope;
    const name = newServerName(scope, digest);
    const process = this.#process(this.#folders.make(accountId, name, record));
    const started = process.start({
      ...this.#options,
      home: spark.home,
      contribution,
      memoryMiB,
      identity: accountIdentity(accountId),
      userName: `account${accountId}`,
      levels: LEVELS,
      rosterFolder: accountRoster(this.#options.dataDir, accountId),
    });
    return { name, record, process, started, warmUp: contribution.warmUp };
  }

  #process(folder: string): ServerProcess {
    return this.#options.openProcess?.(folder) ?? new ConnectServer(folder);
  }
}

/** The memory of a server besides its heap: the JVM itself and its runner. */
const OVERHEAD_MIB = 448;
const OVERHEAD_SHARE = 0.1;

/** The memory of a server with these contributions. */
function serverMemoryMiB(contribution: Contribution): number {
  const heap = heapMiB(contribution);
  return heap + Math.max(OVERHEAD_MIB, Math.ceil(heap * OVERHEAD_SHARE));
}

const DEFAULT_MEMORY_MIB = serverMemoryMiB(NOTHING_CONTRIBUTED);

/** The memory of the first server of a scope. `heap`: as configured; null: not configured. */
export function configuredMemoryMiB(heap: string | null): number {
  if (heap === null) return DEFAULT_MEMORY_MIB;
  try {
    return serverMemoryMiB({ ...NOTHING_CONTRIBUTED, properties: { "spark.driver.memory": heap } });
  } catch {
    return DEFAULT_MEMORY_MIB; // the start of the server will fail with the reason
  }
}
