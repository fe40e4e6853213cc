/**
 * The processes of warm servers and their folders: each server of ours has one below its account's, with a record of what
 * it was started for, by which it is found again after a restart. A remote server has neither.
 */
import {
  ConnectServer,
  remoteServer,
  type ConnectServerPlan,
  type RunningServer,
} from "../../engines/connect-server/connect-server.ts";
import { limitsOfServer } from "../../engines/lasting-process/lasting-process.ts";
import type { Allowance } from "../../engines/runner/allowance.ts";
import type { Contribution } from "../../engines/spark-home/contribution.ts";
import type { SparkSetUp } from "../../engines/spark-home/spark-set-up.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { accountIdentity, accountRoster } from "../queue/attempt-folders.ts";
import { serverMemoryMiB } from "./server-memory.ts";
import { newServerName, remoteServerName, serverFolders, type ServerRecord } from "./server-record.ts";
import type { SparkPlace } from "./spark-place.ts";

export interface ServerProcessesOptions {
  readonly dataDir: string;
  readonly spark: Pick<SparkSetUp, "current">;
  readonly sandbox: ConnectServerPlan["sandbox"];
  /** Absent: a server may take as much as it likes. */
  readonly allowance?: Allowance;
  readonly leaseFile: string | null;
  readonly leaseSeconds: number;
  readonly orphan: ConnectServerPlan["orphan"];
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
}

/** <data>/accounts/<account>/spark/<name>: what the account's user has to pass. */
const LEVELS = 3;

export class ServerProcesses {
  readonly #options: ServerProcessesOptions;
  readonly #folders: ReturnType<typeof serverFolders>;

  constructor(options: ServerProcessesOptions) {
    this.#options = options;
    this.#folders = serverFolders(options.dataDir);
  }

  /** Finds the servers that were left running, and removes what is left of those that have ended. */
  async recover(adopt: (found: OpenedServer) => void): Promise<void> {
    await this.#folders.recover(
      (path) => this.#process(path),
      ({ name }, record, process) => {
        adopt({ name, record, process, started: Promise.resolve() });
        return true;
      },
      this.#options.log,
    );
  }

  /** Starts a server for the place, or connects to the remote one that its cluster names. */
  open(place: SparkPlace, contribution: Contribution, digest: string): OpenedServer {
    const { remote, generation = 0 } = contribution;
    if (remote === undefined) return this.#start(place, contribution, digest);
    const record: ServerRecord = { version: 1, place, digest, memoryMiB: 0, generation };
    const process = remoteServer(remote);
    return { name: remoteServerName(place, digest), record, process, started: Promise.resolve() };
  }

  #start(place: SparkPlace, contribution: Contribution, digest: string): OpenedServer {
    const spark = this.#options.spark.current();
    if (spark.state !== "ready") throw new Fault("unavailable", "Spark is not set up on this node");
    const name = newServerName(place, digest);
    const memoryMiB = serverMemoryMiB(contribution);
    const record: ServerRecord = { version: 1, place, digest, memoryMiB, generation: contribution.generation ?? 0 };
    const process = this.#process(this.#folders.make(place.accountId, name, record));
    const { dataDir, sandbox, leaseFile, leaseSeconds, orphan, allowance } = this.#options;
    const started = process.start({
      home: spark.home,
      contribution,
      sandbox,
      identity: accountIdentity(place.accountId),
      userName: `account${place.accountId}`,
      levels: LEVELS,
      leaseFile,
      leaseSeconds,
      orphan,
      rosterFolder: accountRoster(dataDir, place.accountId),
      ...(allowance === undefined ? {} : { resources: limitsOfServer(allowance, memoryMiB) }),
    });
    return { name, record, process, started };
  }

  #process(folder: string): ServerProcess {
    return this.#options.openProcess?.(folder) ?? new ConnectServer(folder);
  }
}
