import { execFile, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, mkdtempSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { pino } from "pino";
import { describeCluster, readPostmasterPid, type Cluster } from "../../src/db/embedded/cluster.ts";
import { lockDataDir } from "../../src/db/embedded/data-dir-lock.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "../../src/db/embedded/embedded-postgres.ts";
import { settleLeftover } from "../../src/db/embedded/leftover.ts";
import { findUnprivilegedUser, makeReachableFolder } from "../../src/db/embedded/unprivileged-user.ts";
import { readBootId, startTimeOfChild } from "../../src/lib/process-table.ts";
import { DATABASES_FOLDER } from "./run-folders.ts";

const EMBEDDED = new URL("../../src/db/embedded/", import.meta.url);

/** A temporary data directory; nothing remains after its disposal, neither processes nor files. */
export interface ScratchCluster {
  readonly dataDir: string;
  readonly cluster: Cluster;
  /** Copies the files of a stopped cluster to another data directory, which is cheaper than a first start. */
  clone(): Promise<ScratchCluster>;
  start(settings?: Record<string, string>): Promise<EmbeddedPostgres>;
  /** Stops the server and releases the data directory, like a Headgate that stops. */
  stop(): Promise<void>;
  /** Starts the server from a separate process, which can be killed. */
  startElsewhere(): ChildProcess;
  postmasterPid(): Promise<number | undefined>;
  dispose(): Promise<void>;
}

export function makeScratchCluster(cacheDir: string, below = ""): ScratchCluster {
  const root = mkdtempSync(join(process.env[DATABASES_FOLDER] ?? tmpdir(), "headgate-embedded-"));
  chmodSync(root, 0o755);
  const dataDir = join(root, below, "data");
  const cluster = describeCluster(dataDir, findUnprivilegedUser());
  const log = pino({ level: "silent" });
  let ending: (() => Promise<void>) | undefined;
  const stop = async (): Promise<void> => {
    await ending?.();
    ending = undefined;
  };
  return {
    dataDir,
    cluster,
    clone: async () => {
      const copy = makeScratchCluster(cacheDir);
      makeReachableFolder(copy.dataDir, "HEADGATE_DATA_DIR");
      await promisify(execFile)("/bin/cp", ["-a", cluster.folder, copy.cluster.folder]);
      await rm(join(copy.cluster.folder, "port"));
      return copy;
    },
    start: async (settings) => {
      const lock = lockDataDir(dataDir);
      try {
        const postgres = await startEmbeddedPostgres({ lock, cacheDir, log, ...(settings && { settings }) });
        ending = () => postgres.stop().finally(() => lock.release());
        return postgres;
      } catch (error) {
        lock.release();
        throw error;
      }
    },
    stop,
    startElsewhere: () => startElsewhere(dataDir, cacheDir),
    postmasterPid: async () => (await readPostmasterPid(cluster))?.pid,
    dispose: async () => {
      await stop();
      await settleLeftover(cluster, undefined, log);
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** Prints `ready` and then waits to be killed. */
function startElsewhere(dataDir: string, cacheDir: string): ChildProcess {
  const code = `
    import { pino } from "pino";
    import { lockDataDir } from "${new URL("data-dir-lock.ts", EMBEDDED).href}";
    import { startEmbeddedPostgres } from "${new URL("embedded-postgres.ts", EMBEDDED).href}";
    const lock = lockDataDir(${JSON.stringify(dataDir)});
    await startEmbeddedPostgres({ lock, cacheDir: ${JSON.stringify(cacheDir)}, log: pino({ level: "silent" }) });
    console.log("ready");
    setInterval(() => undefined, 60_000);
  `;
  const args = ["--input-type=module", "--eval", code];
  return spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });
}

/** Adds an entry to the roster of processes that need the server, like the runner of a metastore. */
export async function needPostgres({ roster }: Cluster, pid: number): Promise<void> {
  await mkdir(roster, { recursive: true });
  await writeFile(join(roster, [await readBootId(), pid, await startTimeOfChild(pid)].join(".")), "");
}

/** Runs one statement as the app's user, over the socket. */
export async function query(postgres: EmbeddedPostgres, sql: string): Promise<Record<string, unknown>[]> {
  return connectAndQuery({ ...postgres, host: postgres.socketDir }, sql);
}

export async function connectAndQuery(
  {
    host,
    port,
    user,
    password,
    database,
  }: Record<"host" | "user" | "password" | "database", string> & { port: number },
  sql: string,
): Promise<Record<string, unknown>[]> {
  const client = new Client({ host, port, user, password, database });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}
