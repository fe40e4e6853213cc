/**
 * A Hive metastore that outlives us: Spark's own jars with a main of ours (`jvm/metastore`), on loopback, open to who
 * shows its secret. Beside the process's own, its folder has
 *
 *   port            where it listens, once it has said so; ours alone
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readHead, readTail } from "../../lib/plain-file.ts";
import { writePrivateFile } from "../../lib/private-file.ts";
import { LastingProcess, type LastingPlan } from "../lasting-process/lasting-process.ts";
import { confinedFolders } from "../sandbox/confined-folders.ts";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { authorityName, metastoreCommandLine, reportFile, type MetastoreSettings } from "./metastore-command-line.ts";

export interface MetastorePlan extends LastingPlan {
  readonly home: Pick<SparkHome, "java" | "javaArguments" | "classPath" | "archive" | "readOnlyFolders">;
  readonly settings: MetastoreSettings;
  /** Folders that it must see besides its own, such as a warehouse on this machine. */
  readonly readOnly: readonly string[];
  readonly writable: readonly string[];
}

const portName = "port";
const logLimitBytes = 1024 * 1024;
const greetingMs = 5_000;

/** Where the certificates of the settings will be, for the process of that folder. */
export function authorityFile(folder: string): string {
  return join(confinedFolders(folder).input, authorityName);
}

export class Metastore extends LastingProcess {
  /** Once per folder. Settles when the process is on its way; `ready` tells when it answers. */
  async start(plan: MetastorePlan): Promise<void> {
    const { home, settings, userName, writable } = plan;
    await this.launch(plan, (folders) => ({
      ...metastoreCommandLine(home, settings, { ...folders, userName }),
      readOnly: [...home.readOnlyFolders, ...plan.readOnly],
      writable,
      logLimitBytes,
    }));
  }

  /** The port, once it serves there. Fails with the reason when it has ended before it ever did. */
  async ready(signal: AbortSignal): Promise<number> {
    return this.#untilThere(signal, () => this.port());
  }

  /** The port, once it is its own: who connects is served when it is ready. Fails as `ready` does. */
  async listening(signal: AbortSignal): Promise<number> {
    return this.#untilThere(signal, async () => portIn(await this.#report(), "LISTENING") ?? (await this.port()));
  }

  #untilThere(signal: AbortSignal, look: () => Promise<number | undefined>): Promise<number> {
    return this.untilUp(look, { name: "the metastore", explain: () => this.#explain() }, signal);
  }

  /** Undefined: it is not up yet. */
  async port(): Promise<number | undefined> {
    const kept = join(this.folder, portName);
    if (existsSync(kept)) return Number(await readFile(kept, "utf8"));
    const port = portIn(await this.#report(), "READY");
    if (port !== undefined) writePrivateFile(kept, String(port));
    return port;
  }

  /** Whether it answers who has the secret, within seconds. Fails when it could not be asked. */
  async isHealthy(secret: string): Promise<boolean> {
    const port = await this.port();
    if (port === undefined) return false;
    const { isGreeted } = await import("./greeting.ts"); // a client, loaded with the first metastore there is
    return isGreeted(port, secret, AbortSignal.timeout(greetingMs));
  }

  async #report(): Promise<string> {
    return readHead(reportFile(confinedFolders(this.folder).work), 1024);
  }

  /** What it has said of itself, else the last words of the JVM. */
  async #explain(): Promise<string> {
    const [, reason] = /^FAILED (.+)\n/.exec(await this.#report()) ?? [];
    if (reason !== undefined) return `the metastore cannot start: ${reason}`;
    const last = (await readTail(this.logFile, 2048)).trim().split("\n").slice(-3).join("\n");
    return `the metastore ended before it was up${last === "" ? "" : `: ${last}`}`;
  }
}

function portIn(report: string, step: "LISTENING" | "READY"): number | undefined {
  const [, said, port] = /^([A-Z]+) (\d+)\n/.exec(report) ?? [];
  return said === step ? Number(port) : undefined;
}
