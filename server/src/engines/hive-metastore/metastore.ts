/**
 * A Hive metastore that outlives our server: Hive from Spark's jars with our main class (`jvm/metastore`), on loopback,
 * for clients that know its secret. In addition to the files of a lasting process, its folder has
 *
 *   port            its port, as soon as it is known; readable only by us
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readHead, readTail } from "../../lib/plain-file.ts";
import { writePrivateFile } from "../../lib/private-file.ts";
import { LastingProcess, type LastingPlan } from "../../processes/lasting-process/lasting-process.ts";
import { confinedFolders } from "../../processes/sandbox/confined-folders.ts";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { authorityName, metastoreCommandLine, reportFile, type MetastoreSettings } from "./metastore-command-line.ts";

export interface MetastorePlan extends LastingPlan {
  readonly home: Pick<SparkHome, "java" | "javaArguments" | "classPath" | "archive" | "readOnlyFolders">;
  readonly settings: MetastoreSettings;
  /** Folders outside its own that it needs, such as a warehouse on this machine. */
  readonly readOnly: readonly string[];
  readonly writable: readonly string[];
}

const portName = "port";
const logLimitBytes = 1024 * 1024;
const probeTimeoutMs = 5_000;

/** The path of the trusted certificates of the metastore in `folder`. */
export function authorityFile(folder: string): string {
  return join(confinedFolders(folder).input, authorityName);
}

export class Metastore extends LastingProcess {
  /** Must be called once per folder. Resolves when the runner is started; `ready` waits for the metastore. */
  async start(plan: MetastorePlan): Promise<void> {
    const { home, settings, userName, writable } = plan;
    await this.launch(plan, (folders) => ({
      ...metastoreCommandLine(home, settings, { ...folders, userName }),
      readOnly: [...home.readOnlyFolders, ...plan.readOnly],
      writable,
      logLimitBytes,
    }));
  }

  /** Waits until it serves requests, and returns the port. Throws with the reason if the process ends first. */
  async ready(signal: AbortSignal): Promise<number> {
    const options = { name: "the metastore", explain: () => this.#explain() };
    return this.waitUntilReady(() => this.port(), options, signal);
  }

  /** Undefined until it is ready. */
  async port(): Promise<number | undefined> {
    const file = join(this.folder, portName);
    if (existsSync(file)) return Number(await readFile(file, "utf8"));
    const [, port] = /^READY (\d+)\n/.exec(await this.#report()) ?? [];
    if (port === undefined) return undefined;
    writePrivateFile(file, port);
    return Number(port);
  }

  /** Whether it answers a client with the secret within seconds. Throws if the probe itself fails. */
  async isHealthy(secret: string): Promise<boolean> {
    const port = await this.port();
    if (port === undefined) return false;
    const { probeMetastore } = await import("./probe-metastore.ts"); // loads the client only if a metastore runs
    return probeMetastore(port, secret, AbortSignal.timeout(probeTimeoutMs));
  }

  async #report(): Promise<string> {
    return readHead(reportFile(confinedFolders(this.folder).work), 1024);
  }

  /** The reason that the metastore reported, or else the last lines of the JVM's output. */
  async #explain(): Promise<string> {
    const [, reason] = /^FAILED (.+)\n/.exec(await this.#report()) ?? [];
    if (reason !== undefined) return `the metastore cannot start: ${reason}`;
    const last = (await readTail(this.logFile, 2048)).trim().split("\n").slice(-3).join("\n");
    return `the metastore ended before it was ready${last === "" ? "" : `: ${last}`}`;
  }
}
