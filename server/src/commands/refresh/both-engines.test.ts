import { describe, expect, test } from "vitest";
import { expectBothEnginesAgree, expectToAgree } from "../../../test/support/both-engines.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { SPELLED_TYPES, spelledTree } from "../../../test/support/folder-trees.ts";
import { useSpark } from "../../../test/support/spark.ts";

describe.skipIf(sparkIsMissing)("whatever lies in a table's folder", () => {
  const spark = useSpark();

  test("a refresh by us and one by Spark leave the same partitions", () =>
    expectBothEnginesAgree(spark, 6, 20_261_115));

  test.each(SPELLED_TYPES)("of type %s, the values that Spark can read are partitions, and no others", async (type) => {
    expect(await expectToAgree(spark, spelledTree(type), true)).toBeGreaterThan(4);
  });
});
