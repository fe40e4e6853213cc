/**
 * `both-engines.full.test.ts` has more folders and every spelling of the values; `partitions-for-spark.test.ts` compares
 * the accepted values with Spark's.
 */
import { describe, test } from "vitest";
import { expectBothEnginesAgree } from "../../../test/support/both-engines.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { useSpark } from "../../../test/support/spark.ts";

describe.skipIf(sparkIsMissing)("any contents of a table's folder", () => {
  const spark = useSpark();

  test("lead to the same partitions, whether Headgate or Spark refreshes the table", () =>
    expectBothEnginesAgree(spark, 6, 20_261_115));
});
