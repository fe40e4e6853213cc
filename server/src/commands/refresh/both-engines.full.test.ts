import { describe, test } from "vitest";
import { expectBothEnginesAgree } from "../../../test/support/both-engines.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { useSpark } from "../../../test/support/spark.ts";

describe.skipIf(sparkIsMissing)("whatever lies in a table's folder, of many", () => {
  const spark = useSpark();

  test("a refresh by us and one by Spark leave the same partitions", { timeout: 900_000 }, () =>
    expectBothEnginesAgree(spark, 60, Date.now()),
  );
});
