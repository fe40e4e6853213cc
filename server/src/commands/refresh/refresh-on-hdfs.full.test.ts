import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { startMiniHdfs, type MiniHdfs } from "../../../test/mini-hadoop/mini-hadoop.ts";
import { findSparkHome, SET_UP_MS } from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { AccountClient } from "../../../test/support/given.ts";
import { partitionsOf, refresh } from "../../../test/support/refresh.ts";
import { foundSparkAccount } from "../../../test/support/spark-server.ts";
import { statusOf, submitSql, useSpark } from "../../../test/support/spark.ts";
import { hdfsStore } from "../../object-store/hdfs/hdfs-store.ts";
import type { ObjectStore } from "../../object-store/object-store.ts";

const PATIENCE = { timeout: 240_000, interval: 250 };

// Says so when it is left out: Java or Python is not on this machine.
describe.skipIf(sparkIsMissing)("a refresh of a table on HDFS", () => {
  const spark = useSpark();
  let hdfs: MiniHdfs;
  let account: AccountClient;
  let store: ObjectStore;

  beforeAll(async () => {
    const { cacheDir } = inject("postgres");
    hdfs = await startMiniHdfs(await findSparkHome(cacheDir), cacheDir);
    const email = `${randomBytes(4).toString("hex")}@example.test`;
    const { accountId, token } = await foundSparkAccount(spark.connection, email);
    account = new AccountClient(spark.url, token, accountId, email);
    store = hdfsStore({ address: address(), user: `account${accountId}`, checkAddress: () => null, retries: 0 });
  }, SET_UP_MS);
  afterAll(async () => {
    await store?.close();
    await hdfs?.stop();
  });

  const address = (): string => hdfs.webHdfs.replace("/webhdfs/v1", "");

  async function run(sql: string): Promise<string> {
    const { id } = await submitSql(account, sql);
    await expect.poll(() => statusOf(account, id), PATIENCE).toMatch(/done|error/);
    const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
    expect(await statusOf(account, id), log).toBe("done");
    return (await account.get(`/commands/${id}/results`)).results;
  }

  test("needs the account's hdfs_http_address, and then finds partitions that were written directly to the storage", async () => {
    const at = `${hdfs.uri}/tables/logs`;
    await run(`create table logs (v string, day date, n int) using csv partitioned by (day, n) location '${at}'`);
    for (const path of ["day=2026-11-15/n=1", "DAY=2026-11-15/n=07", "day=2026-11-16/n=abc", "backup/n=1"]) {
      await store.put(`${at}/${path}/part.csv`, Buffer.from(`${path}\n`));
    }
    const unknown = await refresh(account, "logs", {}, "error");
    expect(unknown.log).toContain(
      `the table is stored at ${at}, and the account has no HDFS address: set hdfs_http_address`,
    );

    await account.put("/api/v2/accounts", { account: { hdfs_http_address: address() } });
    const young = await refresh(account, "logs", { loader_stable: true, loader_stable_mult: 60 });
    expect(young.added).toEqual({});
    expect(young.log).toContain("2 postponed because they changed recently");
    const { added, log } = await refresh(account, "logs");
    expect(added).toEqual({
      "day=2026-11-15/n=07": `${at}/DAY=2026-11-15/n=07`,
      "day=2026-11-15/n=1": `${at}/day=2026-11-15/n=1`,
    });
    expect(log).toContain(`skipped: ${at}/day=2026-11-16/n=abc: its value is not a valid int`);
    expect(log).toContain(`skipped: ${at}/backup: its name is not of the form day=value`);
    expect(await partitionsOf(account, "logs")).toEqual(added);
    expect(await run("select v, day, n from logs order by n")).toBe(
      "day=2026-11-15/n=1\t2026-11-15\t1\r\nDAY=2026-11-15/n=07\t2026-11-15\t7\r\n",
    );
  });
});
