import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { AccountClient } from "../../../test/support/given.ts";
import { foundSparkAccount } from "../../../test/support/spark-server.ts";
import { statusOf, submitSql, useSpark } from "../../../test/support/spark.ts";
import { useSeaweedFs } from "../../../test/seaweedfs/seaweedfs.ts";
import { s3Store } from "../../object-store/s3/s3-store.ts";

const PATIENCE = { timeout: 240_000, interval: 250 };
const spark = useSpark();
const seaweedFs = useSeaweedFs();

it.skipIf(sparkIsMissing)("an account with a location on S3 stores its tables there, with its own keys", async () => {
  const email = `${randomBytes(4).toString("hex")}@example.test`;
  const { accountId, token } = await foundSparkAccount(spark.connection, email);
  const account = new AccountClient(spark.url, token, accountId, email);
  const { endpoint, region, credentials } = seaweedFs;
  const bucket = await seaweedFs.bucket();
  const settings = { defloc: `s3://${bucket}/deep/`, storage_endpoint: endpoint, aws_region: region };
  const keys = { storage_access_key: credentials.accessKeyId, storage_secret_key: credentials.secretAccessKey };
  await account.put("/api/v2/accounts", { account: { ...settings, ...keys } });

  await run("create table kept (n int) using parquet; insert into kept values (7); create schema other");
  expect(await run("select n from kept")).toBe("7\r\n");
  expect(await run("describe schema other")).toContain(`s3a://${bucket}/deep/warehouse/other.db`);
  const store = s3Store({ endpoint, region, credentials, checkAddress: () => null });
  const names: string[] = [];
  for await (const { uri } of store.list(`s3://${bucket}/deep/warehouse/kept/`)) names.push(uri);
  await store.close();
  expect(names.some((name) => name.endsWith(".parquet"))).toBe(true);
  await run("drop table kept; drop schema other");

  async function run(sql: string): Promise<string> {
    const { id } = await submitSql(account, sql);
    await expect.poll(() => statusOf(account, id), PATIENCE).toMatch(/done|error/);
    const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
    expect(await statusOf(account, id), log).toBe("done");
    const { results } = await account.get(`/commands/${id}/results`);
    return results;
  }
});
