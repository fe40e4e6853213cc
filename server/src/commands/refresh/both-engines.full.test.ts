import { describe, test } from "vitest";
import { expectBothEnginesAgree } from "../../../test/support/both-engines.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { useSpark } from "../../../test/support/spark.ts";

describe.skipIf(sparkIsMissing)("any of many contents of a table's folder", () => {
  const spark = useSpark();

  test("lead to the same partitions, whether Headgate or Spark refreshes the table", { timeout: 900_000 }, () =>
    expectBothEnginesAgree(spark, 60, Date.now()),
  );
});
