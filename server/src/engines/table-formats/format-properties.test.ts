import { expect, it } from "vitest";
import { NOTHING_CONTRIBUTED } from "../spark-home/contribution.ts";
import { runsNoUserCode } from "../spark-submit/standby-rules.ts";
import { checkServerSettings } from "../spark-submit/submit-rules.ts";
import { TABLE_FORMATS, type TableFormat } from "./table-format.ts";
import { isOwnedByFormats } from "./format-properties.ts";
import { withTableFormats } from "./with-table-formats.ts";

const ELSEWHERE = { jars: [], pythonPath: undefined, processors: undefined };
const base = {
  "spark.sql.warehouse.dir": "file:/w",
  "spark.headgate.metastore.secret": "s",
  "spark.sql.catalogImplementation": "hive",
};
const added = (formats: readonly TableFormat[], properties: Record<string, string> = base) =>
  withTableFormats({ ...NOTHING_CONTRIBUTED, properties }, formats, {
    jars: ["/c/delta/delta-spark_4.1_2.13-4.4.0.jar", "/c/iceberg/a.jar"],
    pythonPath: "/c/delta-python",
    processors: 4,
  });

it.each([[["delta"]], [["iceberg"]], [TABLE_FORMATS]] as const)(
  "a standby driver may have the settings of %j",
  (formats) => {
    const { properties } = added(formats);
    expect(properties["spark.sql.extensions"]).toMatch(/./);
    expect(runsNoUserCode(properties)).toBe(true);
  },
);

it.each([
  ["spark.sql.extensions", "com.example.Spy"],
  ["spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension,com.example.Spy"],
  ["spark.sql.catalog.spark_catalog", "com.example.Spy"],
  ["spark.sql.catalog.iceberg", "com.example.Spy"],
  ["spark.sql.catalog.iceberg.type", "com.example.Spy"],
  ["spark.sql.catalog.iceberg.io-impl", "com.example.Spy"],
  ["spark.sql.catalog.other", "org.apache.iceberg.spark.SparkCatalog"],
  ["spark.hadoop.fs.AbstractFileSystem.file.impl", "com.example.Spy"],
  ["spark.databricks.delta.catalog.update.enabled", "false"],
  ["spark.databricks.delta.snapshotPartitions", "com.example.Spy"],
  ["spark.delta.logStore.class", "com.example.Spy"],
])("a standby driver may not have %s=%s", (key, value) => {
  expect(runsNoUserCode({ ...added(TABLE_FORMATS).properties, [key]: value })).toBe(false);
});

it("leaves out what an app says about the settings of formats, and names it", () => {
  const own = {
    ...base,
    "spark.sql.extensions": "com.example.Spy",
    "spark.sql.catalog.iceberg.io-impl": "com.example.Spy",
    "spark.sql.catalogs": "mine",
    "spark.databricks.delta.snapshotPartitions": "8",
  };
  const { properties, ignored } = added(TABLE_FORMATS, own);
  expect(ignored).toEqual(["spark.sql.extensions", "spark.sql.catalog.iceberg.io-impl"]);
  expect(JSON.stringify(properties)).not.toContain("Spy");
  expect(properties).toMatchObject({ "spark.sql.catalogs": "mine", "spark.databricks.delta.snapshotPartitions": "8" });
  expect(added([], own).properties).toEqual(own);
});

it("uses the locks of an external metastore, which other writers may rely on", () => {
  const locks = "spark.hadoop.iceberg.engine.hive.lock-enabled";
  expect(added(["iceberg"]).properties).toMatchObject({ [locks]: "false" });
  expect(added(["iceberg"], { "spark.sql.warehouse.dir": "file:/w" }).properties).not.toHaveProperty(locks);
});

it("lets an idle server load its formats, unless its executors are elsewhere", () => {
  expect(added(["delta"]).warmUp?.flat()[0]).toContain("using delta");
  expect(added(TABLE_FORMATS).warmUp).toHaveLength(2);
  const elsewhere = withTableFormats(NOTHING_CONTRIBUTED, ["delta"], ELSEWHERE);
  expect(elsewhere.warmUp).toEqual([]);
});

it("splits Delta's list of files by the processors of this machine, and leaves clusters elsewhere Delta's default", () => {
  const partitions = "spark.databricks.delta.snapshotPartitions";
  const ofNode = (processors: number | undefined) =>
    withTableFormats(NOTHING_CONTRIBUTED, ["delta"], { ...ELSEWHERE, processors }).properties[partitions];
  expect([1, 4, 64, undefined].map(ofNode)).toEqual(["2", "4", "50", undefined]);
  expect(added(["iceberg"]).properties).not.toHaveProperty(partitions);
});

it("keeps no state of Delta's tables in executors elsewhere, which would not be released", () => {
  const cache = "spark.databricks.delta.snapshotCache.storageLevel";
  const { properties } = withTableFormats(NOTHING_CONTRIBUTED, ["delta"], ELSEWHERE);
  expect(properties[cache]).toBe("NONE");
  expect(added(["delta"]).properties).not.toHaveProperty(cache);
});

it("commits to local files exclusively, also if executors are elsewhere", () => {
  const files = { "spark.hadoop.fs.AbstractFileSystem.file.impl": "headgate.localfs.ExclusiveLocalFs" };
  expect(withTableFormats(NOTHING_CONTRIBUTED, ["delta"], ELSEWHERE).properties).toMatchObject(files);
});

it("owns each property that it sets, except defaults", () => {
  const { properties } = added(TABLE_FORMATS, { "spark.headgate.metastore.secret": "s" });
  const free = Object.keys(properties).filter((key) => !isOwnedByFormats(key));
  expect(free).toEqual(["spark.databricks.delta.snapshotPartitions", "spark.headgate.metastore.secret"]);
});

it("does not have its properties as Java options, which Spark reads, too", () => {
  const { properties } = added(["iceberg"]);
  const check = (javaOptions: string) => () =>
    checkServerSettings({ ...properties, "spark.driver.extraJavaOptions": javaOptions }, "config", isOwnedByFormats);
  expect(check("-Xss4m -Dspark.sql.catalog.iceberg.io-impl=com.example.Spy")).toThrow(
    /^config may not have the Java option -Dspark\.sql\.catalog\.iceberg\.io-impl/,
  );
  expect(check("-Xss4m -Dspark.sql.catalogs=mine -Dmine=spark.sql.extensions")).not.toThrow();
});

it("adds the jars, their folders and Delta's Python module", () => {
  expect(added(TABLE_FORMATS)).toMatchObject({
    classPath: ["/c/delta/delta-spark_4.1_2.13-4.4.0.jar", "/c/iceberg/a.jar"],
    readOnly: ["/c/delta", "/c/iceberg", "/c/delta-python"],
    env: { PYTHONPATH: "/c/delta-python" },
  });
});
