import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClientConfig } from "pg";
import { inject } from "vitest";
import { Metastore } from "../../src/engines/hive-metastore/metastore.ts";
import { findSparkHome } from "./connect-server.ts";
import { javaBelow } from "./java-process.ts";
import { planMetastore } from "./metastore-plan.ts";
import { cloneDatabase, type TestDatabase } from "./test-database.ts";

/** A real metastore for one test file, on its own database in the PostgreSQL of the run unless one is given. */
export interface TestMetastore {
  readonly port: number;
  readonly secret: string;
  readonly warehouse: string;
  /** The connection to its database. */
  readonly connection: ClientConfig;
  /** Simulates a crash. */
  kill(): Promise<void>;
  /** Restarts it on the same port and database. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

const START_MS = 120_000;

export async function startTestMetastore(given?: TestDatabase): Promise<TestMetastore> {
  const base = mkdtempSync(join(tmpdir(), "headgate-tables-"));
  chmodSync(base, 0o711);
  const own = given ?? (await cloneDatabase("template1"));
  const warehouse = join(base, "warehouse");
  const secret = randomBytes(24).toString("hex");
  const started: Metastore[] = [];
  const start = async (port: number): Promise<number> => {
    const metastore = new Metastore(join(base, `process-${started.length}`));
    started.push(metastore);
    const { port: databasePort, user, password, database } = own.connection;
    await metastore.start(
      await planMetastore({
        home: await findSparkHome(inject("postgres").cacheDir),
        database: { jdbcUrl: `jdbc:postgresql://127.0.0.1:${databasePort}/${database}`, user, password },
        warehouse,
        secret,
        port,
        account: 78,
      }),
    );
    return metastore.ready(AbortSignal.timeout(START_MS));
  };
  const stop = async (): Promise<void> => {
    for (const metastore of started) await metastore.stop();
    await own.drop();
    rmSync(base, { recursive: true, force: true, maxRetries: 20 });
  };
  try {
    const port = await start(0);
    return {
      port,
      secret,
      warehouse,
      connection: own.connection,
      async kill() {
        const metastore = started.at(-1);
        process.kill(await javaBelow((await metastore?.pid()) ?? null), "SIGKILL");
        await metastore?.ended(AbortSignal.timeout(START_MS));
      },
      startAgain: async () => void (await start(port)),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
