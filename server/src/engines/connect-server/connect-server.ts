/**
 * A Spark Connect server that outlives us. Beside the process's own, its folder has
 *
 *   server.json     its token, its port, how long it may take to start; ours alone
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writePrivateFile } from "../../lib/private-file.ts";
import { readHead, readTail } from "../../lib/plain-file.ts";
import { LastingProcess, type LastingPlan } from "../lasting-process/lasting-process.ts";
import { confinedFolders } from "../sandbox/confined-folders.ts";
import type { Contribution } from "../spark-home/contribution.ts";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { busyFile, connectCommandLine, readPort, SOCKET_NAME } from "./connect-command-line.ts";

/** No users' roster: the server reports itself whether a statement runs in it. */
export interface ConnectServerPlan extends Omit<LastingPlan, "usersFolder"> {
  readonly home: SparkHome;
  readonly contribution: Contribution;
}

export interface ConnectAddress {
  readonly host: string;
  /** Where to find the host, when that was found out already. */
  readonly address?: string;
  readonly port: number;
  /** Of a server on this machine: a Unix socket that leads to it, instead of the port. */
  readonly socket?: string;
  readonly tls: boolean;
  /** Undefined: it asks for none. */
  readonly token: string | undefined;
}

/** A server of this machine, or a remote one, which has no pid here and is not ended. */
export interface RunningServer extends Pick<LastingProcess, "ended" | "isAlive" | "pid" | "stop"> {
  ready(signal: AbortSignal): Promise<ConnectAddress>;
}

/** One of somebody else's: it is there, and stays. */
export function remoteServer(address: ConnectAddress): RunningServer {
  return {
    ready: () => Promise.resolve(address),
    ended: () => new Promise(() => undefined),
    isAlive: () => Promise.resolve(true),
    pid: () => Promise.resolve(null),
    stop: () => Promise.resolve(),
  };
}

interface ServerFile {
  readonly version: 1;
  readonly token: string;
  /** Null: it has not said yet. */
  readonly port: number | null;
  /** Undefined: as long as every process of ours. */
  readonly startLimitMs?: number | undefined;
  /** Undefined: it was started by a version that did not know of the socket. */
  readonly hasSocket?: true;
}

/** It waits for a place in its queue, and the first one of an account sends Spark's jars before. */
const YARN_START_LIMIT_MS = 60 * 60_000;

const FILE = "server.json";
const HEAD_BYTES = 64 * 1024;
const LOG_LIMIT_BYTES = 16 * 1024 * 1024;

export class ConnectServer extends LastingProcess implements RunningServer {
  #address: ConnectAddress | undefined;

  /** Once per folder. Settles when the process is on its way; `ready` tells when it answers. */
  async start(plan: ConnectServerPlan): Promise<void> {
    const { home, contribution } = plan;
    const token = randomBytes(32).toString("hex");
    await this.launch({ ...plan, usersFolder: null }, (folders) => {
      const isOnYarn = contribution.properties["spark.master"] === "yarn";
      const startLimitMs = isOnYarn ? YARN_START_LIMIT_MS : undefined;
      this.#write({ version: 1, token, port: null, startLimitMs, hasSocket: true });
      return {
        ...connectCommandLine(home, contribution, token, folders),
        readOnly: [...home.readOnlyFolders, ...contribution.readOnly],
        writable: contribution.writable,
        logLimitBytes: LOG_LIMIT_BYTES,
        busyFile: busyFile(folders.work),
      };
    });
  }

  /** Where it answers. Fails with the reason when it has ended before it ever did. */
  async ready(signal: AbortSignal): Promise<ConnectAddress> {
    const { startLimitMs } = await this.#read();
    const self = { name: "the Spark server", explain: () => this.#explain(), startLimitMs };
    return this.untilUp(() => this.address(), self, signal);
  }

  /** Undefined: it is not up yet. */
  async address(): Promise<ConnectAddress | undefined> {
    if (this.#address !== undefined) return this.#address;
    const known = await this.#read();
    // Its first lines: nobody's statement has run when it says them. Later ones are not to be believed.
    const port = known.port ?? readPort(await readHead(this.logFile, HEAD_BYTES));
    if (port === undefined) return undefined;
    if (known.port === null) this.#write({ ...known, port });
    const socket = join(confinedFolders(this.folder).work, SOCKET_NAME);
    const way = known.hasSocket === true ? { socket } : {};
    this.#address = { host: "127.0.0.1", port, ...way, tls: false, token: known.token };
    return this.#address;
  }

  async #read(): Promise<ServerFile> {
    return JSON.parse(await readFile(join(this.folder, FILE), "utf8")) as ServerFile; // written below
  }

  #write(content: ServerFile): void {
    writePrivateFile(join(this.folder, FILE), JSON.stringify(content));
  }

  async #explain(): Promise<string> {
    const tail = await readTail(this.logFile, 4096).catch(() => "");
    const last = tail.trim().split("\n").at(-1) ?? "";
    return last === "" ? "the Spark server ended before it was up" : `the Spark server ended before it was up: ${last}`;
  }
}
