import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useSeaweedFs } from "../../../test/seaweedfs/seaweedfs.ts";
import { SET_UP_MS } from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { AccountClient } from "../../../test/support/given.ts";
import { partitionsOf, refresh } from "../../../test/support/refresh.ts";
import { foundSparkAccount } from "../../../test/support/spark-server.ts";
import { statusOf, submitSql, useSpark } from "../../../test/support/spark.ts";
import type { ObjectStore } from "../../object-store/object-store.ts";
import { s3Store } from "../../object-store/s3/s3-store.ts";

const PATIENCE = { timeout: 240_000, interval: 250 };

// Says so when it is left out: Java or Python is not on this machine.
describe.skipIf(sparkIsMissing)("a refresh of tables on S3", () => {
  const spark = useSpark();
  const seaweedFs = useSeaweedFs();
  let account: AccountClient;
  let store: ObjectStore;
  let bucket = "";

  beforeAll(async () => {
    const email = `${randomBytes(4).toString("hex")}@example.test`;
    const { accountId, token } = await foundSparkAccount(spark.connection, email);
    account = new AccountClient(spark.url, token, accountId, email);
    const { endpoint, region, credentials } = seaweedFs;
    bucket = await seaweedFs.bucket();
    store = s3Store({ endpoint, region, credentials, checkAddress: () => null });
    await account.put("/api/v2/accounts", {
      account: { defloc: `s3://${bucket}/own`, storage_endpoint: endpoint, aws_region: region, ...keys(credentials) },
    });
  }, SET_UP_MS);
  afterAll(() => store?.close());

  const keys = ({ accessKeyId, secretAccessKey }: typeof seaweedFs.credentials) => ({
    storage_access_key: accessKeyId,
    storage_secret_key: secretAccessKey,
  });

  async function run(sql: string): Promise<string> {
    const { id } = await submitSql(account, sql);
    await expect.poll(() => statusOf(account, id), PATIENCE).toMatch(/done|error/);
    const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
    expect(await statusOf(account, id), log).toBe("done");
    return (await account.get(`/commands/${id}/results`)).results;
  }

  async function copy(from: string, ...to: readonly string[]): Promise<void> {
    for await (const { uri } of store.list(from)) {
      for (const folder of to) {
        const { body } = await store.get(uri);
        await store.put(`${folder}/${uri.slice(uri.lastIndexOf("/") + 1)}`, body);
      }
    }
  }

  test("finds partitions that were written directly to the storage of a managed Parquet table, and Spark reads them", async () => {
    await run(
      `create table sales (v int, day date, city string) using parquet partitioned by (day, city);
       insert into sales values (7, date'2026-11-15', 'here')`,
    );
    const at = `s3a://${bucket}/own/warehouse/sales`;
    await copy(`${at}/day=2026-11-15/`, `${at}/day=2026-11-16/city=a%2Fb`, `${at}/DAY=2026-11-17/city=Köln`);
    await store.put(`${at}/_temporary/0/part`, Buffer.from("x"));
    await store.put(`${at}/day=2026-13-45/city=x/part`, Buffer.from("x"));
    const { added, log } = await refresh(account, "sales");
    expect(added).toEqual({
      "day=2026-11-16/city=a%2Fb": `${at}/day=2026-11-16/city=a%2Fb`,
      "day=2026-11-17/city=Köln": `${at}/DAY=2026-11-17/city=Köln`,
    });
    expect(log).toContain(`skipped: ${at}/day=2026-13-45: its value is not a valid date`);
    expect(await run("select v, day, city from sales order by day")).toBe(
      "7\t2026-11-15\there\r\n7\t2026-11-16\ta/b\r\n7\t2026-11-17\tKöln\r\n",
    );
  });

  test("of an external table of text adds more than one page of folders, and postpones recent ones with loader_stable", async () => {
    const at = `s3a://${bucket}/elsewhere/text`;
    await run(`create table text (v string, n int) using csv options (path '${at}') partitioned by (n)`);
    const numbers = Array.from({ length: 1100 }, (_, n) => n);
    for (let from = 0; from < numbers.length; from += 50) {
      const some = numbers.slice(from, from + 50);
      await Promise.all(some.map((n) => store.put(`${at}/n=${n}/part.csv`, Buffer.from(`row ${n}\n`))));
    }
    const young = await refresh(account, "text", { loader_stable: 1, loader_stable_mult: 60 });
    expect(young.added).toEqual({});
    expect(young.log).toContain(
      `postponed to the next refresh: n=7 at ${at}/n=7: s3://${bucket}/elsewhere/text/n=7/part.csv`,
    );
    expect(Object.keys((await refresh(account, "text")).added)).toHaveLength(1100);
    expect(Object.keys(await partitionsOf(account, "text"))).toHaveLength(1100);
    expect(await run("select v from text where n = 1099")).toBe("row 1099\r\n");
  });

  test("that the storage denies ends as an error that says what to do", async () => {
    await run(
      `create table denied (v string, n int) using csv options (path 's3a://${bucket}/denied') partitioned by (n)`,
    );
    await account.put("/api/v2/accounts", { account: keys({ ...seaweedFs.credentials, secretAccessKey: "wrong" }) });
    const { log } = await refresh(account, "denied", {}, "error");
    expect(log).toMatch(/folders cannot be listed: .*denied.* Allow the account's storage keys/);
    await account.put("/api/v2/accounts", { account: keys(seaweedFs.credentials) });
    expect((await refresh(account, "denied")).added).toEqual({});
  });
});
