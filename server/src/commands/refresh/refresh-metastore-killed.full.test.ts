import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { findSparkHome, SET_UP_MS } from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { AccountClient } from "../../../test/support/given.ts";
import { javaBelow, metastoreEntry, metastoreOf } from "../../../test/support/java-process.ts";
import { metastoreFlaws, NO_FLAWS } from "../../../test/support/metastore-rows.ts";
import { startNode, type NodeProcess } from "../../../test/support/node-process.ts";
import { openToAll, type OpenMetastore } from "../../../test/support/open-metastore.ts";
import { refresh } from "../../../test/support/refresh.ts";
import { foundSparkAccount, SPARK_SETTINGS } from "../../../test/support/spark-server.ts";
import { runSql, statusOf } from "../../../test/support/spark.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { newKey, writeKeys } from "../../lib/key-ring.ts";
import { findProcess } from "../../lib/process-table.ts";

const PATIENCE = { timeout: 240_000, interval: 20 };
const PARTITIONS = 3000;
const email = "refresh@example.test";

// Says so when it is left out: Java or Python is not on this machine.
describe.skipIf(sparkIsMissing)("a refresh whose metastore is killed", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "headgate-refresh-"));
  let database: TestDatabase;
  let node: NodeProcess;
  let account: AccountClient;
  let pool: Pool;

  beforeAll(async () => {
    chmodSync(dataDir, 0o711);
    const { cacheDir } = inject("postgres");
    await findSparkHome(cacheDir);
    database = await cloneDatabase();
    writeKeys(join(dataDir, "keys"), [newKey([])]);
    const { accountId, token } = await foundSparkAccount(database.connection, email);
    node = await startNode(dataDir, database.connection, { HEADGATE_CACHE_DIR: cacheDir, ...SPARK_SETTINGS });
    account = new AccountClient(node.url, token, accountId, email);
    await runSql(account, "select 1");
    const { connection } = database;
    pool = new Pool({ ...connection, database: `${connection.database}_metastore_${accountId}` });
  }, SET_UP_MS);

  afterAll(async () => {
    await pool?.end();
    await node?.stopEverything();
    await database?.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it("does not need it if it is Headgate's own", async () => {
    await grown("ours");
    await killMetastore();
    const { added } = await refresh(account, "ours");
    expect(Object.keys(added)).toHaveLength(PARTITIONS);
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
    expect(await sum("ours")).toBe(`${PARTITIONS}\r\n`);
  });

  it("leaves complete partitions if it is external, and the next refresh adds the rest", async () => {
    await grown("with_external");
    const relay = await useExternalMetastore();
    try {
      const { id } = await account.post("/commands", {
        template: "s3import",
        db_name: "default",
        hive_table: "with_external",
      });
      await vi.waitFor(async () => expect(await count("with_external")).toBeGreaterThan(0), PATIENCE);
      await killMetastore();
      expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
      await vi.waitFor(async () => expect(await statusOf(account, id)).toMatch(/done|error/), PATIENCE);
      const there = await count("with_external");
      expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);

      await useMetastore("");
      expect(await sum("with_external")).toBe(`${there}\r\n`);
      await useMetastore(relay.uri);
      const { added } = await refresh(account, "with_external");
      expect(Object.keys(added)).toHaveLength(PARTITIONS - there);
      expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
    } finally {
      await useMetastore("");
      await relay.close();
    }
    expect(await sum("with_external")).toBe(`${PARTITIONS}\r\n`);
  });

  /** Creates folders that the metastore does not know, with a row in each. */
  async function grown(table: string): Promise<void> {
    const folder = join(dataDir, "accounts", String(account.accountId), "storage", table);
    for (let n = 0; n < PARTITIONS; n += 1) {
      mkdirSync(join(folder, `n=${n}`), { recursive: true });
      writeFileSync(join(folder, `n=${n}`, "part-0.csv"), "1\n");
    }
    await runSql(account, `create table ${table} (one int, n int) using csv partitioned by (n) location '${folder}'`);
  }

  /** Opens the metastore as an external one would be: without a secret. */
  async function useExternalMetastore(): Promise<OpenMetastore> {
    const relay = await openToAll(await metastoreEntry(dataDir, account.accountId));
    await useMetastore(relay.uri);
    return relay;
  }

  async function useMetastore(uri: string): Promise<void> {
    await account.put("/api/v2/accounts", { metastore_uri: uri });
  }

  async function killMetastore(): Promise<void> {
    const pid = await javaBelow(await metastoreOf(dataDir, account.accountId).pid());
    process.kill(pid, "SIGKILL");
    await vi.waitFor(async () => expect(await findProcess(pid)).toBeUndefined(), PATIENCE);
  }

  async function sum(table: string): Promise<string> {
    const { id } = await runSql(account, `select sum(one) from ${table}`);
    return (await account.get(`/commands/${id}/results`)).results;
  }

  async function count(table: string): Promise<number> {
    const { rowCount } = await pool.query(
      `select from "PARTITIONS" p join "TBLS" t using ("TBL_ID") where t."TBL_NAME" = $1`,
      [table],
    );
    return rowCount ?? 0;
  }
});
