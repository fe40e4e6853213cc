import { expect, it } from "vitest";
import { withFormatHint } from "./missing-format.ts";

it.each([
  ["[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta. Make sure", "delta"],
  ["[TABLE_OR_VIEW_NOT_FOUND] The table or view `delta`.`file:/a/b` cannot be found.", "delta"],
  ["java.lang.ClassNotFoundException: io.delta.sql.DeltaSparkSessionExtension", "delta"],
  ["ModuleNotFoundError: No module named 'delta' (line 1)", "delta"],
  ["[DATA_SOURCE_NOT_FOUND] Failed to find the data source: iceberg. Make sure", "iceberg"],
  [
    "[REQUIRES_SINGLE_PART_NAMESPACE] spark_catalog requires a single-part namespace, but got `iceberg`.`a`.",
    "iceberg",
  ],
  ["[CATALOG_NOT_FOUND] The catalog `iceberg` not found.", "iceberg"],
  ["Failed to instantiate org.apache.hadoop.mapred.FileInputFormat", "iceberg"],
])("%s names the setting", (error, format) => {
  expect(withFormatHint(error)).toContain(`add "${format}" to table_formats of the cluster`);
});

it.each([
  "ModuleNotFoundError: No module named 'deltas' (line 1)",
  "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: hudi. Make sure",
  "[TABLE_OR_VIEW_NOT_FOUND] The table or view `delta`.`orders` cannot be found.",
  "[TABLE_OR_VIEW_NOT_FOUND] The table or view `iceberg`.`orders` cannot be found.",
])("%s stays as it is", (error) => {
  expect(withFormatHint(error)).toBe(error);
});
