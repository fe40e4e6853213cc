import { realpathSync } from "node:fs";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { findPython } from "../src/processes/set-up/find-python.ts";
import { findSparkHomeWithPackages, SET_UP_MS } from "./support/connect-server.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { runSparkProgram } from "./support/spark-program.ts";
import { useSpark } from "./support/spark.ts";

const program = `
import numpy, pandas, pyarrow
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf
spark = SparkSession.builder.getOrCreate()

def say(*words):
    print(*words, flush=True)

df = spark.createDataFrame(pandas.DataFrame({"name": ["ann", "bob"], "age": [41, 5]}))
say(df.toPandas().to_csv(index=False).split())

@pandas_udf("long")
def older(ages: pandas.Series) -> pandas.Series:
    return ages + 1

say([row[0] for row in df.select(older("age")).collect()])
say(df.mapInPandas(lambda parts: (part[part.age > 6] for part in parts), df.schema).count())

def where(_):
    import numpy
    return [numpy.__file__]

# Each process has the same packages, which are in front of those of the machine.
say(set(df.rdd.mapPartitions(where).collect()) == {numpy.__file__}, "/lib/python" in numpy.__file__)

import pyspark.pandas as ps
say(int(ps.DataFrame({"a": [1, 2, 3]})["a"].sum()))
`;

// Skipped on machines without Java or Python.
describe.skipIf(sparkIsMissing)("a Python program", () => {
  const spark = useSpark();
  beforeAll(() => findSparkHomeWithPackages(inject("postgres").cacheDir), SET_UP_MS);

  test("has numpy, pandas and pyarrow, in its own process and in its tasks", async () => {
    expect(await runSparkProgram(spark.account, program)).toBe(
      "['name,age', 'ann,41', 'bob,5']\n[42, 6]\n1\nTrue True\n6\n",
    );
  });

  test("in another interpreter has what that one has", async () => {
    const interpreter = realpathSync((await findPython())?.path ?? "");
    const others = `--driver-memory 1g --conf spark.pyspark.python=${interpreter}`;
    const text = "import sys; print(any(path.endswith('/packages') for path in sys.path))";
    expect(await runSparkProgram(spark.account, text, { arguments: others })).toBe("False\n");
  });
});
