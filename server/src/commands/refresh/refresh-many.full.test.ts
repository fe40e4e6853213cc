import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { partitionsOf, refresh } from "../../../test/support/refresh.ts";
import { runSql, useSpark } from "../../../test/support/spark.ts";
import { storageFolder } from "../../accounts/account-storage.ts";

describe.skipIf(sparkIsMissing)("a table refresh", () => {
  const spark = useSpark();

  test("of thousands of partitions adds, names and lists each", async () => {
    const folder = join(storageFolder(spark.dataDir, spark.accountId), "thousands");
    await runSql(
      spark.account,
      `create table thousands (v string, h string, n int) using csv options (path 'file:${folder}')
       partitioned by (h, n)`,
    );
    const hours = Array.from({ length: 120 }, (_, h) => `h=${h}`);
    for (const h of hours) for (let n = 0; n < 100; n += 1) mkdirSync(join(folder, h, `n=${n}`), { recursive: true });
    const { id, added } = await refresh(spark.account, "thousands");
    expect(Object.keys(added)).toHaveLength(12_000);
    const { text: log } = await spark.account.get(`/commands/${id}/logs`).reply();
    expect(log.match(/ added h=/g)).toHaveLength(12_000);
    expect(Object.keys(await partitionsOf(spark.account, "thousands"))).toHaveLength(12_000);
    await runSql(spark.account, "drop table thousands"); // other files read all rows of the metastore
  });
});
