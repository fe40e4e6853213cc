import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { partitionsOf, refresh, refreshed } from "../../../test/support/refresh.ts";
import { runSql, useSpark } from "../../../test/support/spark.ts";
import { storageFolder } from "../../accounts/account-storage.ts";

const PATIENCE = { timeout: 45_000, interval: 50 };

describe.skipIf(sparkIsMissing)("a table refresh that waits for its metastore", () => {
  const spark = useSpark();
  let table = "";
  let metastore: Client;

  /** Holds the lock that adding partitions to this table waits for. */
  beforeEach(async () => {
    table = `held_${randomBytes(4).toString("hex")}`;
    const folder = join(storageFolder(spark.dataDir, spark.accountId), table);
    await runSql(
      spark.account,
      `create table ${table} (v string, n int) using csv partitioned by (n) location 'file:${folder}'`,
    );
    for (const n of [1, 2, 3]) mkdirSync(join(folder, `n=${n}`), { recursive: true });
    const database = `${spark.connection.database}_metastore_${spark.accountId}`;
    metastore = new Client({ ...spark.connection, database });
    await metastore.connect();
    onTestFinished(() => metastore.end());
    await metastore.query("begin");
    await metastore.query(`select from "TBLS" where "TBL_NAME" = $1 for update`, [table]);
  });

  async function waiting(more: Record<string, unknown> = {}): Promise<number> {
    const body = { template: "s3import", db_name: "default", hive_table: table, ...more };
    const { id } = await spark.account.post("/commands", body);
    const blocked = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await vi.waitFor(async () => {
      await metastore.query("select pg_stat_clear_snapshot()"); // kept for as long as the transaction otherwise
      expect((await metastore.query(blocked)).rowCount).toBe(1);
    }, PATIENCE);
    return id;
  }

  test("is cancelled at once, has added nothing, and can be run again", async () => {
    const id = await waiting();
    expect(await spark.account.get(`/commands/${id}`)).toMatchObject({ status: "running", pid: null });
    const asked = performance.now();
    await spark.account.put(`/commands/${id}`, { status: "kill" });
    expect(await spark.account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "cancelled" });
    expect(performance.now() - asked).toBeLessThan(30_000);
    await metastore.query("rollback");
    expect(await partitionsOf(spark.account, table)).toEqual({});
    const again = await spark.account.post(`/commands/${id}/rerun`);
    const { added } = await refreshed(spark.account, again.id);
    expect(Object.keys(added).sort()).toEqual(["n=1", "n=2", "n=3"]);
  });

  test("is ended by its timeout, and says so", async () => {
    const id = await waiting({ timeout: 5 });
    const { log } = await refreshed(spark.account, id, "error");
    expect(log).toContain("timed out: the timeout is 5 s");
    await metastore.query("rollback");
    expect(await partitionsOf(spark.account, table)).toEqual({});
  });

  test("continues when the metastore responds again, beside another refresh of the same table", async () => {
    const id = await waiting();
    const other = refresh(spark.account, table);
    await metastore.query("rollback");
    const both = [...Object.keys((await refreshed(spark.account, id)).added), ...Object.keys((await other).added)];
    expect(both.sort()).toEqual(["n=1", "n=2", "n=3"]);
    expect(Object.keys(await partitionsOf(spark.account, table))).toEqual(["n=1", "n=2", "n=3"]);
  });
});
