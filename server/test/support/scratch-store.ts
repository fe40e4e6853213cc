import { randomBytes } from "node:crypto";
import { Client, type ClientConfig } from "pg";
import { createAccountWithAdmin } from "../../src/accounts/create-account-with-admin.ts";
import { addDefaultCluster } from "../../src/clusters/default-cluster.ts";
import { openDatabase } from "../../src/db/database.ts";
import { migrate } from "../../src/db/migrate.ts";
import { testCacheDir } from "./cache-dir.ts";
import { makeScratchCluster } from "./scratch-cluster.ts";

/** A separate PostgreSQL, for tests and benchmarks that must not share one. It needs no test runner. */
export interface ScratchStore {
  readonly dataDir: string;
  newDatabase(): Promise<StoreConnection>;
  postmasterPid(): Promise<number | undefined>;
  dispose(): Promise<void>;
}

export type StoreConnection = ClientConfig & { readonly host: string; readonly port: number };

export async function makeScratchStore(): Promise<ScratchStore> {
  const scratch = makeScratchCluster(testCacheDir());
  try {
    const { socketDir: host, port, user, password } = await scratch.start({ max_connections: "200" });
    const server = { host, port, user, password };
    return {
      dataDir: scratch.dataDir,
      async newDatabase() {
        const database = `scratch_${randomBytes(6).toString("hex")}`;
        await maintain({ ...server, database: "headgate" }, `create database ${database}`);
        await migrate({ ...server, database });
        return { ...server, database };
      },
      postmasterPid: () => scratch.postmasterPid(),
      dispose: () => scratch.dispose(),
    };
  } catch (error) {
    await scratch.dispose();
    throw error;
  }
}

export interface ScratchAccount {
  readonly accountId: number;
  readonly userId: number;
  readonly token: string;
}

export async function foundScratchAccount(connection: ClientConfig, name: string): Promise<ScratchAccount> {
  const db = openDatabase({ ...connection, max: 1 });
  try {
    return await db.asSystem((tx) =>
      createAccountWithAdmin(tx, {
        account: { name, parentId: null, plan: "free" },
        admin: { email: `${name}@example.test`, name: "Founder", isOperator: false },
        features: [],
        addDefaults: addDefaultCluster,
      }),
    );
  } finally {
    await db.close();
  }
}

async function maintain(connection: ClientConfig, sql: string): Promise<void> {
  const client = new Client(connection);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
