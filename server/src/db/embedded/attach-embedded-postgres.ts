import { realpathSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../lib/fault.ts";
import { describeCluster, readPostmasterPid, type Cluster } from "./cluster.ts";
import { BRIEF_WAIT_MS, lockDataDir, type DataDirLock } from "./data-dir-lock.ts";
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
  const lock = tryLock(options.dataDir);
  if (lock instanceof Fault) return connectToRunning(options.dataDir, lock);
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

function tryLock(dataDir: string): DataDirLock | Fault {
  try {
    return lockDataDir(dataDir, BRIEF_WAIT_MS);
  } catch (error) {
    if (error instanceof Fault && error.code === "conflict") return error;
    throw error;
  }
}

const startingLimitMs = 30_000;

/** The other Headgate may be starting its server right now. */
async function connectToRunning(dataDir: string, conflict: Fault): Promise<EmbeddedPostgres> {
  const cluster = describeCluster(realpathSync(dataDir), findUnprivilegedUser());
  const begin = performance.now();
  for (;;) {
    const running = await findRunning(cluster);
    if (running !== undefined) return running;
    if (performance.now() - begin > startingLimitMs) {
      throw new Fault("unavailable", `the PostgreSQL of ${dataDir} does not respond: ${conflict.publicMessage}`);
    }
    await delay(50);
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
