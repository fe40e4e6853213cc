import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, inject } from "vitest";
import { newKey, writeKeys } from "../../src/lib/key-ring.ts";
import { findSparkHome, SET_UP_MS } from "./connect-server.ts";
import { AccountClient } from "./given.ts";
import { startNode, type NodeProcess } from "./node-process.ts";
import { foundSparkAccount, SPARK_SETTINGS } from "./spark-server.ts";
import { cloneDatabase, type TestDatabase } from "./test-database.ts";

/** A Headgate with a real Spark for one test file, because its crashes would disturb others; see `useSpark`. */
export interface OwnSpark {
  readonly database: TestDatabase;
  readonly dataDir: string;
  /** The current process of Headgate. */
  readonly node: NodeProcess;
  /** The first user of the first account, through the current process. */
  readonly account: AccountClient;
  /** Starts Headgate again after it was ended. */
  start(settings?: Record<string, string>): Promise<void>;
}

const EMAIL = "founder@example.test";

/** Starts it before the tests of the surrounding `describe` and ends it after them; later hooks can already use it. */
export function useOwnSpark(): OwnSpark {
  let database: TestDatabase;
  let dataDir: string;
  let node: NodeProcess;
  let founded: { accountId: number; token: string };

  beforeAll(async () => {
    await findSparkHome(inject("postgres").cacheDir);
    dataDir = mkdtempSync(join(tmpdir(), "headgate-spark-"));
    chmodSync(dataDir, 0o711); // as root Spark runs under the account's uid
    writeKeys(join(dataDir, "keys"), [newKey([])]);
    database = await cloneDatabase();
    founded = await foundSparkAccount(database.connection, EMAIL);
    await spark.start();
  }, SET_UP_MS);

  afterAll(async () => {
    await node.stopEverything();
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 });
  });

  const spark: OwnSpark = {
    get database() {
      return database;
    },
    get dataDir() {
      return dataDir;
    },
    get node() {
      return node;
    },
    get account() {
      return new AccountClient(node.url, founded.token, founded.accountId, EMAIL);
    },
    async start(settings = {}) {
      const cacheDir = inject("postgres").cacheDir;
      node = await startNode(dataDir, database.connection, {
        HEADGATE_CACHE_DIR: cacheDir,
        ...SPARK_SETTINGS,
        ...settings,
      });
    },
  };
  return spark;
}
