import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { runSparkProgram } from "../../../test/support/spark-program.ts";
import { runSql, useSpark } from "../../../test/support/spark.ts";

describe.skipIf(sparkIsMissing)("the tables of an account", () => {
  const spark = useSpark();

  it("are the same for its queries and its programs", async () => {
    const name = `t_${randomBytes(4).toString("hex")}`;
    await runSql(spark.account, `create table ${name} using parquet as select 7 as n`);
    const printed = await runSparkProgram(
      spark.account,
      `from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print(spark.table("${name}").first().n)
spark.range(3).write.saveAsTable("${name}_back")`,
    );
    expect(printed).toBe("7\n");
    const { id } = await runSql(spark.account, `select count(*) from ${name}_back`);
    expect((await spark.account.get(`/commands/${id}/results`)).results).toBe("3\r\n");
  });
});
