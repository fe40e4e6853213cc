import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Client, type ClientConfig } from "pg";
import { createAccountWithAdmin } from "../../src/accounts/create-account-with-admin.ts";
import { addDefaultCluster } from "../../src/clusters/default-cluster.ts";
import { openDatabase } from "../../src/db/database.ts";
import { newKey, writeKeys } from "../../src/lib/key-ring.ts";
import { startNode } from "./node-process.ts";
import { serveOnDemand, type OnDemand, type Started } from "../on-demand/on-demand.ts";

/** The details that a test file gets. */
export interface SharedSpark {
  readonly url: string;
  readonly pid: number;
  readonly token: string;
  readonly accountId: number;
  readonly email: string;
  readonly dataDir: string;
  readonly connection: ClientConfig;
}

export interface SparkServerOptions {
  readonly connection: ClientConfig;
  readonly template: string;
  readonly cacheDir: string;
}

/**
 * For the global set-up: the Headgate with a real Spark that a test run shares. Test files use it through `useSpark`.
 */
export function serveSpark(options: SparkServerOptions): OnDemand {
  return serveOnDemand("spark", (folder) => start(options, folder));
}

export const SPARK_SETTINGS = {
  TEST_SPARK: "1",
  HEADGATE_TIMEOUT_CHECK_SECONDS: "1",
  HEADGATE_ALLOWED_NETWORKS: "127.0.0.0/8",
};

/** Creates an account whose warm server all test files share. */
async function start(
  { connection, template, cacheDir }: SparkServerOptions,
  folder: string,
): Promise<Started<SharedSpark>> {
  const database = "shared_spark";
  const maintenance = new Client(connection);
  await maintenance.connect();
  await maintenance.query(`create database ${database} template ${template}`);
  await maintenance.end();
  const own = { ...connection, database, connectionTimeoutMillis: 60_000 }; // as in `test-database.ts`
  const dataDir = join(folder, "data");
  mkdirSync(dataDir, { mode: 0o711 });
  writeKeys(join(dataDir, "keys"), [newKey([])]);
  const email = "spark@example.test";
  const { accountId, token } = await foundSparkAccount(own, email);
  const node = await startNode(dataDir, own, { HEADGATE_CACHE_DIR: cacheDir, ...SPARK_SETTINGS });
  const shared = { url: node.url, pid: node.pid, token, accountId, email, dataDir, connection: own };
  return { shared, stop: () => node.stopEverything() };
}

/** The first account; without isolation only this account may run programs. */
export async function foundSparkAccount(
  connection: ClientConfig,
  email: string,
): Promise<{ accountId: number; token: string }> {
  const db = openDatabase({ ...connection, max: 1 });
  try {
    return await db.asSystem((tx) =>
      createAccountWithAdmin(tx, {
        account: { name: "Spark", parentId: null, plan: "free" },
        admin: { email, name: "Founder", isOperator: true },
        features: [],
        addDefaults: addDefaultCluster,
      }),
    );
  } finally {
    await db.close();
  }
}

declare module "vitest" {
  interface ProvidedContext {
    sparkSocket: string;
  }
}
