import { realpathSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../lib/fault.ts";
import { describeCluster, readPostmasterPid, type Cluster } from "./cluster.ts";
import { lockDataDir, type DataDirLock } from "./data-dir-lock.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres, type EmbeddedPostgresOptions } from "./embedded-postgres.ts";
import { probe } from "./superuser.ts";
import { appDatabase, appRole, readPasswords } from "./role-passwords.ts";
import { findUnprivilegedUser } from "./unprivileged-user.ts";

export interface AttachOptions extends Omit<EmbeddedPostgresOptions, "lock" | "leavesAdopted"> {
  readonly dataDir: string;
}

/**
 * For commands next to the server: uses the PostgreSQL of a Headgate that runs on the data directory, else starts one
 * and stops it at the end. `stop()` ends neither a server that another process supervises, nor one that a killed
 * Headgate has left to its programs.
 */
export async function attachEmbeddedPostgres(options: AttachOptions): Promise<EmbeddedPostgres> {
  const { dataDir } = options;
  const begin = performance.now();
  for (;;) {
    const lock = tryLock(dataDir);
    if (!(lock instanceof Fault)) return startOwn(options, lock);
    const running = await findRunning(describeCluster(realpathSync(dataDir), findUnprivilegedUser()));
    if (running !== undefined) return running;
    if (performance.now() - begin > STARTING_LIMIT_MS) {
      throw new Fault("unavailable", `the PostgreSQL of ${dataDir} does not respond: ${lock.publicMessage}`);
    }
    await delay(50);
  }
}

/** The other Headgate may be starting its PostgreSQL right now, or hold the lock only for a moment. */
const STARTING_LIMIT_MS = 30_000;

function tryLock(dataDir: string): DataDirLock | Fault {
  try {
    return lockDataDir(dataDir, 0);
  } catch (error) {
    if (error instanceof Fault && error.code === "conflict") return error;
    throw error;
  }
}

async function startOwn(options: AttachOptions, lock: DataDirLock): Promise<EmbeddedPostgres> {
  try {
    const postgres = await startEmbeddedPostgres({ ...options, lock, leavesAdopted: true });
    return {
      ...postgres,
      get healthy() {
        return postgres.healthy;
      },
      stop: async () => {
        await postgres.stop();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function findRunning(cluster: Cluster): Promise<EmbeddedPostgres | undefined> {
  const [found, passwords] = await Promise.all([readPostmasterPid(cluster), readPasswords(cluster.secrets)]);
  if (found?.port === undefined || found.socketDir === undefined || passwords === undefined) return undefined;
  const endpoint = { socketDir: found.socketDir, port: found.port };
  if ((await probe(endpoint, passwords.superuser)).kind !== "ready") return undefined;
  const stop = async (): Promise<void> => undefined;
  return { ...endpoint, user: appRole, password: passwords.app.reveal(), database: appDatabase, healthy: true, stop };
}
