import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, Pool } from "pg";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { connectMetastore } from "../../../test/support/account-metastore.ts";
import { adminCli, urlOf } from "../../../test/support/admin-cli.ts";
import { Client as ApiClient } from "../../../test/support/client.ts";
import { SET_UP_MS } from "../../../test/support/connect-server.ts";
import { javaBelow, metastoreOf, warmServerOf } from "../../../test/support/java-process.ts";
import { metastoreFlaws, NO_FLAWS } from "../../../test/support/metastore-rows.ts";
import { useOwnSpark } from "../../../test/support/own-spark.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { foundSparkAccount } from "../../../test/support/spark-server.ts";
import { statusOf, submitSql } from "../../../test/support/spark.ts";
import { findProcess } from "../../lib/process-table.ts";

const PATIENCE = { timeout: 240_000, interval: 250 };

describe.skipIf(sparkIsMissing)("a table is available to the next command", () => {
  const spark = useOwnSpark();

  beforeAll(async () => {
    await run("create table kept (n int) using parquet; insert into kept values (7)");
  }, SET_UP_MS);

  async function run(sql: string, by: ApiClient = spark.account): Promise<string> {
    const { id } = await submitSql(by, sql);
    return resultsOf(id, by);
  }
  async function resultsOf(id: number, client: ApiClient = spark.account): Promise<string> {
    await vi.waitFor(async () => expect(await statusOf(client, id)).toMatch(/done|error/), PATIENCE);
    const { error_log: log } = await client.get(`/commands/${id}/error_logs`);
    expect(await statusOf(client, id), log).toBe("done");
    const { results } = await client.get(`/commands/${id}/results`);
    return results;
  }
  const metastorePid = async (accountId = spark.account.accountId): Promise<number> =>
    javaBelow(await metastoreOf(spark.dataDir, accountId).pid());
  const serverPid = async (accountId = spark.account.accountId): Promise<number> =>
    javaBelow(await warmServerOf(spark.dataDir, accountId).pid());

  async function kill(pid: number): Promise<void> {
    process.kill(pid, "SIGKILL");
    await vi.waitFor(async () => expect(await findProcess(pid)).toBeUndefined(), PATIENCE);
  }

  it("after a crash of Headgate, which adopts metastore and warm server at its next start", async () => {
    const before = [await metastorePid(), await serverPid()];
    await spark.node.crash();
    await spark.start();
    expect(await run("select n from kept")).toBe("7\r\n");
    expect([await metastorePid(), await serverPid()]).toEqual(before);
  });

  it("after a crash of the metastore, on the same warm server", async () => {
    const [metastore, server] = [await metastorePid(), await serverPid()];
    await kill(metastore);
    expect(await run("select n from kept")).toBe("7\r\n");
    expect(await serverPid()).toBe(server);
    expect(await metastorePid()).not.toBe(metastore);
  });

  it("at once after all connections of the metastore were closed", async () => {
    const statements = [
      "create table cut (n int, day string) using parquet partitioned by (day)",
      "insert into cut values (7, 'a')",
      "alter table cut add partition (day = 'b')",
      "show partitions cut",
      "drop table cut",
      "create database cut",
      "drop database cut",
    ];
    const pid = await metastorePid();
    const metastore = await connectMetastore({
      ...spark.database,
      dataDir: spark.dataDir,
      accountId: spark.account.accountId,
    });
    try {
      // The metastore must not inherit this setting of its role.
      await metastore.query("alter role current_user set default_transaction_isolation = 'serializable'");
      for (const sql of statements) {
        const { rowCount } = await metastore.query(
          `select pg_terminate_backend(pid, 10000) from pg_stat_activity
            where datname = current_database() and application_name = 'headgate-metastore'`,
        );
        expect(rowCount).toBeGreaterThan(0);
        await run(sql);
      }
    } finally {
      await metastore.query("alter role current_user reset default_transaction_isolation");
      await metastore.end();
    }
    expect(await metastorePid()).toBe(pid);
  });

  it("after a crash of the warm server, on the same metastore", async () => {
    const [metastore, { folder }] = [await metastorePid(), warmServerOf(spark.dataDir, spark.account.accountId)];
    await kill(await serverPid());
    // Until its folder is removed, a command would end with the crash as its error.
    await vi.waitUntil(() => !existsSync(folder), PATIENCE);
    expect(await run("select n from kept")).toBe("7\r\n");
    expect(await metastorePid()).toBe(metastore);
  });

  it("completely or not at all when the metastore dies while it is created, and the next attempt creates it", async () => {
    const { accountId } = spark.account;
    const pool = new Pool({
      ...spark.database.connection,
      database: `${spark.database.connection.database}_metastore_${accountId}`,
    });
    const made = async (): Promise<number> =>
      (await pool.query(`select from "TBLS" where "TBL_NAME" like 'made%'`)).rowCount ?? 0;
    const names = Array.from({ length: 12 }, (_, index) => `made_${index}`);
    const script = names.map(
      (name) => `create table if not exists ${name} (n int, day date) using parquet partitioned by (day)`,
    );
    try {
      const { id } = await submitSql(spark.account, script.join(";"));
      await vi.waitFor(async () => expect(await made()).toBeGreaterThan(2), { ...PATIENCE, interval: 5 });
      await kill(await metastorePid());
      expect(await made()).toBeLessThan(names.length);
      expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
      await vi.waitFor(async () => expect(await statusOf(spark.account, id)).toMatch(/done|error/), PATIENCE);
      expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
      await run(script.join(";"));
      expect(await made()).toBe(names.length);
      await run("insert into made_11 partition (day = date'2026-11-15') values (7)");
      expect(await run("select n, day from made_11")).toBe("7\t2026-11-15\r\n");
    } finally {
      await pool.end();
    }
  });

  it("when the metastore does not answer, which is then replaced", async () => {
    const [metastore, server] = [await metastorePid(), await serverPid()];
    process.kill(metastore, "SIGSTOP");
    expect(await run("select n from kept")).toBe("7\r\n");
    expect(await serverPid()).toBe(server);
    expect(await metastorePid()).not.toBe(metastore);
    expect(await findProcess(metastore)).toBeUndefined();
  });

  it("when the warm server does not answer, which is then replaced and its commands end", async () => {
    const server = await serverPid();
    process.kill(server, "SIGSTOP");
    const { id } = await submitSql(spark.account, "select n from kept");
    await vi.waitFor(async () => expect(await statusOf(spark.account, id)).toBe("error"), PATIENCE);
    const { error_log: log } = await spark.account.get(`/commands/${id}/error_logs`);
    expect(log).toContain("the Spark server that ran it has died");
    expect(await run("select n from kept")).toBe("7\r\n");
    expect(await serverPid()).not.toBe(server);
    expect(await findProcess(server)).toBeUndefined();
  });

  it("and to a program that runs while Headgate and the metastore crash", async () => {
    const storage = join(spark.dataDir, "accounts", String(spark.account.accountId), "storage");
    const { id } = await spark.account.post("/commands", {
      command_type: "SparkCommand",
      language: "python",
      program: `import os, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print(spark.table("kept").first().n)
open("${storage}/first", "w").close()
while not os.path.exists("${storage}/go"):
    time.sleep(0.1)
spark.sql("insert into kept values (8)")
print(spark.table("kept").count())`,
    });
    await vi.waitUntil(() => existsSync(join(storage, "first")), PATIENCE);
    await spark.node.crash();
    await kill(await metastorePid());
    await kill(await serverPid());
    await spark.start();
    writeFileSync(join(storage, "go"), "");
    expect(await resultsOf(id)).toBe("7\n2\n");
  });

  it("after everything was stopped, which leaves no process", async () => {
    expect(await run("select count(*) from kept")).toBe("2\r\n");
    const pids = [await metastorePid(), await serverPid()];
    await spark.node.stopEverything();
    for (const pid of pids) expect(await findProcess(pid)).toBeUndefined();
    await spark.start();
    expect(await run("select count(*) from kept")).toBe("2\r\n");
  });

  it("while the metastore uses few connections to PostgreSQL", async () => {
    const client = new Client(spark.database.connection);
    await client.connect();
    const held = async (): Promise<number> => {
      const { rows } = await client.query<{ n: number }>(
        "select count(*)::int as n from pg_stat_activity where application_name = 'headgate-metastore'",
      );
      return rows[0]?.n ?? 0;
    };
    // A connection that was just used is closed a moment later.
    await expect.poll(held).toBeLessThanOrEqual(4);
    await client.end();
  });

  it("after its metastore was evicted to free memory for another account", async () => {
    const other = await foundSparkAccount(spark.database.connection, "large@example.test");
    const before = [await metastorePid(), await serverPid()];
    await spark.node.stop();
    await spark.start({ HEADGATE_MEMORY_BUDGET: "1800m" });
    expect(await run("show tables", new ApiClient(spark.node.url, other.token))).toBe("");
    for (const pid of before) expect(await findProcess(pid)).toBeUndefined();
    expect(await run("select count(*) from kept")).toBe("2\r\n");
    await spark.node.stop();
    await spark.start();
  });

  it("unless the account is deleted, which removes its processes, its database and its files", async () => {
    const other = await foundSparkAccount(spark.database.connection, "other@example.test");
    expect(await run("show tables", new ApiClient(spark.node.url, other.token))).toBe("");
    const pids = [await metastorePid(other.accountId), await serverPid(other.accountId)];
    const admin = adminCli({ DATABASE_URL: urlOf(spark.database), HEADGATE_DATA_DIR: spark.dataDir });
    await admin.run("account-delete", String(other.accountId), "--yes");
    for (const pid of pids) expect(await findProcess(pid)).toBeUndefined();
    const client = new Client(spark.database.connection);
    await client.connect();
    const named = "select from pg_database where datname = $1 union all select from pg_roles where rolname = $1";
    const { rowCount } = await client.query(named, [
      `${spark.database.connection.database}_metastore_${other.accountId}`,
    ]);
    await client.end();
    expect(rowCount).toBe(0);
    expect(existsSync(join(spark.dataDir, "accounts", String(other.accountId)))).toBe(false);
    expect(await run("select count(*) from kept")).toBe("2\r\n");
  });
});
