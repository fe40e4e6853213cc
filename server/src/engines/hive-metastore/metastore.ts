/**
 * A Hive metastore as a process that outlives us: Spark's own jars with a main of ours (`jvm/metastore`), on loopback,
 * open to who shows its secret. It runs under a runner in a sandbox, and all that is known of it is in its folder, so
 * that it is found again after our restart.
 *
 *   port            where it listens, once it has said so; ours alone
 *   run/            the runner's: status, log
 *   input/ work/ tmp/ user/   what the process sees
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../lib/fault.ts";
import { readHead, readTail } from "../../lib/plain-file.ts";
import { writePrivateFile } from "../../lib/private-file.ts";
import { removeTree } from "../../lib/remove-tree.ts";
import { openRunnerClient, type RunnerClient } from "../runner/runner-client.ts";
import { confinedFolders, makeConfinedFolders, makeOwned, writeInput } from "../sandbox/confined-folders.ts";
import type { Identity } from "../sandbox/confined-program.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { isGreeted } from "./greeting.ts";
import { authorityName, metastoreCommandLine, reportFile, type MetastoreSettings } from "./metastore-command-line.ts";

export interface MetastorePlan {
  readonly home: Pick<SparkHome, "java" | "javaArguments" | "classPath" | "archive" | "readOnlyFolders">;
  readonly settings: MetastoreSettings;
  /** Folders that it must see besides its own, such as a warehouse on this machine. */
  readonly readOnly: readonly string[];
  readonly writable: readonly string[];
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

const portName = "port";
const logLimitBytes = 1024 * 1024;
const graceSeconds = 5;
const startLimitMs = 180_000;
const lookEveryMs = 50;
const longLookMs = 60_000;
const greetingMs = 10_000;

/** Where the certificates of the settings will be, for the process of that folder. */
export function authorityFile(folder: string): string {
  return join(confinedFolders(folder).input, authorityName);
}

export class Metastore {
  readonly folder: string;
  readonly #client: RunnerClient;
  #isStartedHere = false;
  #isStopped = false;

  /** The one of that folder, whether it runs or not. */
  constructor(folder: string) {
    this.folder = folder;
    this.#client = openRunnerClient(join(folder, "run"));
  }

  /** Once per folder. Settles when the process is on its way; `ready` tells when it answers. */
  async start(plan: MetastorePlan): Promise<void> {
    const { home, settings, sandbox, identity, userName, levels } = plan;
    this.#isStartedHere = true;
    const folders = await makeConfinedFolders(this.folder, { name: userName, identity, levels });
    for (const folder of plan.writable) await makeOwned(folder, identity);
    const { argv, env, files } = metastoreCommandLine(home, settings, { ...folders, userName });
    await writeInput(folders.input, files, identity);
    const program = sandbox.confine({
      argv,
      env,
      cwd: folders.work,
      readOnly: [...home.readOnlyFolders, ...plan.readOnly, folders.input],
      writable: [folders.work, ...plan.writable],
      tmpFolder: folders.tmp,
      userFolder: folders.user,
      identity,
    });
    const { leaseFile, leaseSeconds } = plan;
    const forever = { timeoutSeconds: null, checkSeconds: 60, elapsedSeconds: 0 };
    const limits = { outputFile: null, logFile: null, logLimitBytes, graceSeconds, leaseFile, leaseSeconds };
    await this.#client.start(program, { ...forever, ...limits });
  }

  /** The port, once it serves there. Fails with the reason when it has ended before it ever did. */
  async ready(signal: AbortSignal): Promise<number> {
    return this.#untilUp(signal, () => this.port());
  }

  /** The port, once it is its own: who connects is served when it is ready. Fails as `ready` does. */
  async listening(signal: AbortSignal): Promise<number> {
    return this.#untilUp(signal, async () => portIn(await this.#report(), "LISTENING") ?? (await this.port()));
  }

  async #untilUp(signal: AbortSignal, look: () => Promise<number | undefined>): Promise<number> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(startLimitMs)]);
    for (;;) {
      const port = await look();
      if (port !== undefined) return port;
      if (!(await this.isAlive())) throw new Fault("unavailable", await this.#explain());
      await delay(lookEveryMs, undefined, { signal: limit }).catch(() => undefined);
      signal.throwIfAborted();
      if (limit.aborted) throw new Fault("unavailable", "the metastore did not come up in time");
    }
  }

  /** Undefined: it is not up yet. */
  async port(): Promise<number | undefined> {
    const kept = join(this.folder, portName);
    if (existsSync(kept)) return Number(await readFile(kept, "utf8"));
    const port = portIn(await this.#report(), "READY");
    if (port !== undefined) writePrivateFile(kept, String(port));
    return port;
  }

  async isAlive(): Promise<boolean> {
    if (this.#isStopped) return false;
    const { state } = await this.#client.observe();
    // A runner of ours that is about to start has not left a mark yet; one of an earlier Headgate never will.
    return state === "starting" || state === "running" || (state === "absent" && this.#isStartedHere);
  }

  /** Whether it answers who has the secret. */
  async isHealthy(secret: string): Promise<boolean> {
    const port = await this.port();
    return port !== undefined && isGreeted(port, secret, AbortSignal.timeout(greetingMs));
  }

  /** Of the sandbox's first process; null: it does not run. */
  async pid(): Promise<number | null> {
    const view = await this.#client.observe();
    return view.state === "running" ? (view.status.driver?.pid ?? null) : null;
  }

  /** Settles when it has ended, whoever ended it, or the signal is aborted. */
  async ended(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.isAlive())) {
      await this.#client.waitForEnd(AbortSignal.any([signal, AbortSignal.timeout(longLookMs)]));
      await delay(lookEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Settles when nothing of it is left. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    // Where not even the runner's folder is, nothing was started.
    if (existsSync(join(this.folder, "run")) && !this.#client.forsake()) {
      await this.#client.cancel();
      const { state } = await this.#client.waitForEnd(AbortSignal.timeout((graceSeconds + 5) * 1000));
      if (state !== "ended" && state !== "lost") await this.#client.kill();
    }
    await removeTree(this.folder);
  }

  async #report(): Promise<string> {
    return readHead(reportFile(confinedFolders(this.folder).work), 1024);
  }

  /** What it has said of itself, else the last words of the JVM. */
  async #explain(): Promise<string> {
    const [, reason] = /^FAILED (.+)\n/.exec(await this.#report()) ?? [];
    if (reason !== undefined) return `the metastore cannot start: ${reason}`;
    const last = (await readTail(join(this.folder, "run", "log"), 2048)).trim().split("\n").slice(-3).join("\n");
    return `the metastore ended before it was up${last === "" ? "" : `: ${last}`}`;
  }
}

function portIn(report: string, step: "LISTENING" | "READY"): number | undefined {
  const [, said, port] = /^([A-Z]+) (\d+)\n/.exec(report) ?? [];
  return said === step ? Number(port) : undefined;
}
