import { describe, expect, test } from "vitest";
import { expectBothEnginesAgree, expectToAgree } from "../../../test/support/both-engines.ts";
import { SPELLED_TYPES, spelledTree } from "../../../test/support/folder-trees.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { useSpark } from "../../../test/support/spark.ts";

describe.skipIf(sparkIsMissing)("any of many contents of a table's folder", () => {
  const spark = useSpark();

  test("lead to the same partitions, whether Headgate or Spark refreshes the table", { timeout: 900_000 }, () =>
    expectBothEnginesAgree(spark, 60, Date.now()),
  );

  test.each(SPELLED_TYPES)("lead to partitions of type %s only for values that Spark can read", async (type) => {
    expect(await expectToAgree(spark, spelledTree(type), true)).toBeGreaterThan(4);
  });
});
