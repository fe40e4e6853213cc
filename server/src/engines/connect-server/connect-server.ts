/**
 * A Spark Connect server as a process that outlives us: it runs under a runner in a sandbox, and all that is known of it
 * is in its folder, so that it is found again after our restart.
 *
 *   server.json     its token and what shaped it; ours alone
 *   run/            the runner's: status, log
 *   input/ work/ tmp/ user/   what the process sees
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../lib/fault.ts";
import { writePrivateFile } from "../../lib/private-file.ts";
import { readHead, readTail } from "../../lib/plain-file.ts";
import { removeTree } from "../../lib/remove-tree.ts";
import { openRunnerClient, type RunnerClient } from "../runner/runner-client.ts";
import { makeConfinedFolders, makeOwned, writeInput } from "../sandbox/confined-folders.ts";
import type { Identity } from "../sandbox/confined-program.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Contribution } from "../spark-home/contribution.ts";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { connectCommandLine, readPort } from "./connect-command-line.ts";

export interface ConnectServerPlan {
  readonly home: SparkHome;
  readonly contribution: Contribution;
  readonly sandbox: Sandbox;
  readonly identity: Identity | undefined;
  /** Of the user inside of the sandbox. */
  readonly userName: string;
  /** Folders above its own that the user has to pass. */
  readonly levels: number;
  /** Null: it may run on whatever becomes of the database. */
  readonly leaseFile: string | null;
  readonly leaseSeconds: number;
}

export interface ConnectAddress {
  readonly host: string;
  /** Where to find the host, when that was found out already. */
  readonly address?: string;
  readonly port: number;
  readonly tls: boolean;
  /** Undefined: it asks for none. */
  readonly token: string | undefined;
}

/** A server, of ours or of somebody else's, as whoever uses it sees it. */
export interface RunningServer {
  ready(signal: AbortSignal): Promise<ConnectAddress>;
  /** Settles when it has ended, whoever ended it, or nobody wants to know any more. */
  ended(signal: AbortSignal): Promise<void>;
  /** Of the JVM; null: it does not run, or not here. */
  pid(): Promise<number | null>;
  /** Settles when nothing of it is left. */
  stop(): Promise<void>;
}

/** One of somebody else's: it is there, and stays. */
export function remoteServer(address: ConnectAddress): RunningServer {
  return {
    ready: () => Promise.resolve(address),
    ended: () => new Promise(() => undefined),
    pid: () => Promise.resolve(null),
    stop: () => Promise.resolve(),
  };
}

interface ServerFile {
  readonly version: 1;
  readonly token: string;
  /** Null: it has not said yet. */
  readonly port: number | null;
}

const FILE = "server.json";
const HEAD_BYTES = 64 * 1024;
const LOG_LIMIT_BYTES = 16 * 1024 * 1024;
const GRACE_SECONDS = 5;
const START_LIMIT_MS = 180_000;
const LOOK_EVERY_MS = 50;
const LONG_LOOK_MS = 60_000;

export class ConnectServer implements RunningServer {
  readonly folder: string;
  readonly #client: RunnerClient;
  #address: ConnectAddress | undefined;
  #isStartedHere = false;
  #isStopped = false;

  /** The one of that folder, whether it runs or not. */
  constructor(folder: string) {
    this.folder = folder;
    this.#client = openRunnerClient(join(folder, "run"));
  }

  /** Once per folder. Settles when the process is on its way; `ready` tells when it answers. */
  async start(plan: ConnectServerPlan): Promise<void> {
    const { home, contribution, sandbox, identity } = plan;
    this.#isStartedHere = true;
    const token = randomBytes(32).toString("hex");
    const folders = await makeConfinedFolders(this.folder, {
      name: plan.userName,
      identity,
      levels: plan.levels,
    });
    for (const folder of contribution.writable) await makeOwned(folder, identity);
    this.#write({ version: 1, token, port: null });
    const { argv, env, files } = connectCommandLine(home, contribution, token, folders);
    await writeInput(folders.input, files, identity);
    const program = sandbox.confine({
      argv,
      env,
      cwd: folders.work,
      readOnly: [...home.readOnlyFolders, ...contribution.readOnly, folders.input],
      writable: [folders.work, ...contribution.writable],
      tmpFolder: folders.tmp,
      userFolder: folders.user,
      identity,
    });
    await this.#client.start(program, {
      outputFile: null,
      logFile: null,
      logLimitBytes: LOG_LIMIT_BYTES,
      timeoutSeconds: null,
      checkSeconds: 60,
      elapsedSeconds: 0,
      graceSeconds: GRACE_SECONDS,
      leaseFile: plan.leaseFile,
      leaseSeconds: plan.leaseSeconds,
    });
  }

  /** Where it answers. Fails with the reason when it has ended before it ever did. */
  async ready(signal: AbortSignal): Promise<ConnectAddress> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(START_LIMIT_MS)]);
    for (;;) {
      const address = await this.address();
      if (address !== undefined) return address;
      if (!(await this.isAlive())) throw new Fault("unavailable", await this.#explain());
      await delay(LOOK_EVERY_MS, undefined, { signal: limit }).catch(() => undefined);
      signal.throwIfAborted();
      if (limit.aborted) throw new Fault("unavailable", "the Spark server did not come up in time");
    }
  }

  /** Undefined: it is not up yet. */
  async address(): Promise<ConnectAddress | undefined> {
    if (this.#address !== undefined) return this.#address;
    const known = await this.#read();
    // Its first lines: nobody's statement has run when it says them. Later ones are not to be believed.
    const port = known.port ?? readPort(await readHead(this.#log, HEAD_BYTES));
    if (port === undefined) return undefined;
    if (known.port === null) this.#write({ ...known, port });
    this.#address = { host: "127.0.0.1", port, tls: false, token: known.token };
    return this.#address;
  }

  async isAlive(): Promise<boolean> {
    if (this.#isStopped) return false;
    const { state } = await this.#client.observe();
    // A runner of ours that is about to start has not left a mark yet; one of an earlier Headgate never will.
    return state === "starting" || state === "running" || (state === "absent" && this.#isStartedHere);
  }

  async ended(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.isAlive())) {
      await this.#client.waitForEnd(AbortSignal.any([signal, AbortSignal.timeout(LONG_LOOK_MS)]));
      await delay(LOOK_EVERY_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
  }

  async pid(): Promise<number | null> {
    const view = await this.#client.observe();
    return view.state === "running" ? (view.status.driver?.pid ?? null) : null;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    // Where not even the runner's folder is, nothing was started.
    if (existsSync(join(this.folder, "run")) && !this.#client.forsake()) {
      await this.#client.cancel();
      const { state } = await this.#client.waitForEnd(AbortSignal.timeout((GRACE_SECONDS + 5) * 1000));
      if (state !== "ended" && state !== "lost") await this.#client.kill();
    }
    await removeTree(this.folder);
  }

  async #read(): Promise<ServerFile> {
    return JSON.parse(await readFile(join(this.folder, FILE), "utf8")) as ServerFile; // written below
  }

  #write(content: ServerFile): void {
    writePrivateFile(join(this.folder, FILE), JSON.stringify(content));
  }

  get #log(): string {
    return join(this.folder, "run", "log");
  }

  async #explain(): Promise<string> {
    const tail = await readTail(this.#log, 4096).catch(() => "");
    const last = tail.trim().split("\n").at(-1) ?? "";
    return last === "" ? "the Spark server ended before it was up" : `the Spark server ended before it was up: ${last}`;
  }
}
