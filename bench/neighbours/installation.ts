import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { pino } from "pino";
import { attachStore } from "../../server/src/db/open-store.ts";
import { findAllBelow, kill } from "../../server/test/chaos/processes.ts";
import { testCacheDir } from "../../server/test/support/cache-dir.ts";
import { freePort } from "../../server/test/support/free-port.ts";
import { foundScratchAccount, type ScratchAccount } from "../../server/test/support/scratch-store.ts";
import { startProgram, type Program } from "../program.ts";

/** A server as `npm start` runs it but without Spark, with its own PostgreSQL and two tenants. */
export interface Installation {
  readonly url: string;
  readonly pid: number;
  readonly dataDir: string;
  readonly attacker: ScratchAccount;
  readonly neighbour: ScratchAccount;
  /** Connected as the owner of the database. */
  readonly sql: Client;
  /** Ends all processes and removes their files. */
  close(): Promise<void>;
}

const MAIN = fileURLToPath(new URL("headgate-main.ts", import.meta.url));
const STOP_PATIENCE_MS = 30_000;

/** `profile`: the folder for profiles of the server; see `profile-on-signal.ts`. */
export async function openInstallation(profile: string | undefined): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), "headgate-neighbours-"));
  chmodSync(folder, 0o755);
  const dataDir = join(folder, "data");
  let program: Program | undefined;
  let sql: Client | undefined;
  const close = async (): Promise<void> => {
    await sql?.end().catch(() => undefined);
    const late = AbortSignal.timeout(STOP_PATIENCE_MS);
    await Promise.race([program?.stop(), new Promise((resolve) => late.addEventListener("abort", resolve))]);
    for (let left = await findAllBelow([folder], [dataDir]); left.length > 0;) {
      for (const { pid } of left) kill(pid);
      left = await findAllBelow([folder], [dataDir]);
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  };
  try {
    // With the memory settings of server/start.sh.
    const args = ["--max-semi-space-size=4", MAIN];
    program = await startProgram(process.execPath, args, /ready at (\S+)/, {
      MALLOC_ARENA_MAX: "2",
      MALLOC_TRIM_THRESHOLD_: "131072",
      HEADGATE_CONFIG: "",
      HEADGATE_CACHE_DIR: testCacheDir(),
      HEADGATE_DATA_DIR: dataDir,
      HEADGATE_PORT: String(await freePort()), // not 0: only a fixed port has a holder, which lets Node accept several connections per turn
      ...(profile === undefined ? {} : { BENCH_PROFILE: resolve(profile) }),
    });
    const log = pino({ level: "silent" });
    const options = { databaseUrl: null, dataDir, cacheDir: testCacheDir(), log, progress: () => undefined };
    const { connection } = await attachStore(options);
    sql = new Client(connection);
    await sql.connect();
    const attacker = await foundScratchAccount(connection, "attacker");
    const neighbour = await foundScratchAccount(connection, "neighbour");
    return { url: program.url, pid: program.pid, dataDir, attacker, neighbour, sql, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The folder of the attacking programs. */
export const programsFolder = join(dirname(MAIN), "programs");
