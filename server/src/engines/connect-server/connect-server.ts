/**
 * A Spark Connect server that outlives our server. In addition to the files of a lasting process, its folder has
 *
 *   server.json     its token, its port and its start timeout; readable only by us
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writePrivateFile } from "../../lib/private-file.ts";
import { readHead, readTail } from "../../lib/plain-file.ts";
import { LastingProcess, type LastingPlan } from "../../processes/lasting-process/lasting-process.ts";
import { confinedFolders } from "../../processes/sandbox/confined-folders.ts";
import type { Contribution } from "../spark-home/contribution.ts";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { busyFile, connectCommandLine, readPort, SOCKET_NAME } from "./connect-command-line.ts";

/** Has no roster of users: the Spark server itself reports whether a statement runs in it. */
export interface ConnectServerPlan extends Omit<LastingPlan, "usersFolder"> {
  readonly home: SparkHome;
  readonly contribution: Contribution;
}

export interface ConnectAddress {
  readonly host: string;
  /** The IP address of the host, if it is already resolved. */
  readonly address?: string;
  readonly port: number;
  /** A Unix socket to use instead of the port, if the server runs on this machine. */
  readonly socket?: string;
  readonly tls: boolean;
  /** Undefined if the server requires none. */
  readonly token: string | undefined;
}

/** A server on this machine, or a remote one, which has no pid and is never stopped. */
export interface RunningServer extends Pick<LastingProcess, "ended" | "isAlive" | "pid" | "stop"> {
  ready(signal: AbortSignal): Promise<ConnectAddress>;
}

/** A server that is operated elsewhere: always alive, never stopped. */
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
  /** Null until it is known. */
  readonly port: number | null;
  /** Undefined: the default of all lasting processes. */
  readonly startLimitMs?: number | undefined;
  /** Undefined for servers that an older version started without a socket. */
  readonly hasSocket?: true;
}

/** Includes the wait in YARN's queue and the upload of Spark's jars for an account's first server. */
const YARN_START_LIMIT_MS = 60 * 60_000;

const FILE = "server.json";
const HEAD_BYTES = 64 * 1024;
const LOG_LIMIT_BYTES = 16 * 1024 * 1024;

export class ConnectServer extends LastingProcess implements RunningServer {
  #address: ConnectAddress | undefined;

  /** Must be called once per folder. Resolves when the runner is started; `ready` waits for the server. */
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

  /** Waits for the address. Throws with the reason if the process ends first. */
  async ready(signal: AbortSignal): Promise<ConnectAddress> {
    const { startLimitMs } = await this.#read();
    const self = { name: "the Spark server", explain: () => this.#explain(), startLimitMs };
    return this.waitUntilReady(() => this.address(), self, signal);
  }

  /** Undefined until the server is ready. */
  async address(): Promise<ConnectAddress | undefined> {
    if (this.#address !== undefined) return this.#address;
    const known = await this.#read();
    // Only the first lines are trusted: users' statements can write the later ones.
    const port = known.port ?? readPort(await readHead(this.logFile, HEAD_BYTES));
    if (port === undefined) return undefined;
    if (known.port === null) this.#write({ ...known, port });
    const socket = join(confinedFolders(this.folder).work, SOCKET_NAME);
    this.#address = {
      host: "127.0.0.1",
      port,
      ...(known.hasSocket === true ? { socket } : {}),
      tls: false,
      token: known.token,
    };
    return this.#address;
  }

  async #read(): Promise<ServerFile> {
    return JSON.parse(await readFile(join(this.folder, FILE), "utf8")) as ServerFile; // written by #write
  }

  #write(content: ServerFile): void {
    writePrivateFile(join(this.folder, FILE), JSON.stringify(content));
  }

  async #explain(): Promise<string> {
    const tail = await readTail(this.logFile, 4096).catch(() => "");
    const last = tail.trim().split("\n").at(-1) ?? "";
    return `the Spark server ended before it was ready${last === "" ? "" : `: ${last}`}`;
  }
}
