import { expect, test } from "vitest";
import { useSharedServer } from "../../test/support/given.ts";

const given = useSharedServer();
const LOCAL = { type: "local" };
const CONNECT = { type: "connect", url: "sc://127.0.0.1:15002" };

test("the table formats of a cluster are created, edited, cloned and shown in one order, each once", async () => {
  const account = await given.account();
  const create = (labels: string[], more: object) =>
    account.post("/api/v2/clusters", { labels, engine: LOCAL, ...more });
  expect(await create(["plain"], {})).toMatchObject({ table_formats: [] });
  const { id } = await create(["lake"], { table_formats: ["iceberg", "delta", "iceberg"] });
  const formats = async () => (await account.get(`/api/v2/clusters/${id}`)).table_formats;
  expect(await formats()).toEqual(["delta", "iceberg"]);
  expect(await account.post(`/api/v2/clusters/${id}/clone`, { labels: ["copy"] })).toMatchObject({
    table_formats: ["delta", "iceberg"],
  });
  await account.put(`/api/v2/clusters/${id}`, { max_concurrent_commands: 2 });
  expect(await formats()).toEqual(["delta", "iceberg"]);
  await account.put(`/api/v2/clusters/${id}`, { table_formats: ["iceberg"] });
  expect(await formats()).toEqual(["iceberg"]);
  await account.put(`/api/v2/clusters/${id}`, { table_formats: [] });
  expect(await formats()).toEqual([]);
});

test("v1.2 takes them with the other fields of a cluster", async () => {
  const account = await given.account();
  const { cluster } = await account.post("/clusters", { cluster: { label: ["old"], table_formats: ["delta"] } });
  expect(cluster).toMatchObject({ table_formats: ["delta"] });
  const { cluster: edited } = await account.put(`/clusters/${cluster.id}`, { cluster: { table_formats: ["iceberg"] } });
  expect(edited).toMatchObject({ table_formats: ["iceberg"] });
});

test.each([
  ["an unknown format", { table_formats: ["delta", "hudi"] }, /^table_formats .*delta and iceberg/],
  ["another case", { table_formats: ["Delta"] }, /^table_formats/],
  ["a text", { table_formats: 3 }, /^table_formats/],
  ["too many", { table_formats: Array.from({ length: 17 }, () => "delta") }, /^table_formats/],
  ["a connect cluster", { table_formats: ["delta"], engine: CONNECT }, /^table_formats must be empty .*connect/],
  [
    "extensions in spark_config",
    { table_formats: ["delta"], spark_config: { "spark.sql.extensions": "a.B" } },
    /^spark_config may not set spark\.sql\.extensions on a cluster with table_formats/,
  ],
  [
    "a catalog in spark_config",
    { table_formats: ["iceberg"], spark_config: { "spark.sql.catalog.iceberg.uri": "x" } },
    /^spark_config may not set spark\.sql\.catalog\.iceberg\.uri/,
  ],
  [
    "the class of local files in spark_config",
    { table_formats: ["delta"], spark_config: { "spark.hadoop.fs.AbstractFileSystem.file.impl": "a.B" } },
    /^spark_config may not set spark\.hadoop\.fs\.AbstractFileSystem\.file\.impl/,
  ],
  [
    "a setting as a Java option in spark_config",
    { table_formats: ["delta"], spark_config: { "spark.driver.extraJavaOptions": "-Dspark.sql.extensions=a.B" } },
    /^spark_config may not have the Java option -Dspark\.sql\.extensions/,
  ],
])("%s is refused, and nothing is stored", async (_, more, message) => {
  const account = await given.account();
  await account.post("/api/v2/clusters", { labels: ["new"], engine: LOCAL, ...more }).refused(422, message);
  await account.get("/api/v2/clusters/new").refused(404);
});

test("an edit is refused if the settings would not fit together, whichever comes second", async () => {
  const account = await given.account();
  const own = { "spark.sql.extensions": "a.B", "spark.sql.catalog.mine": "a.C" };
  // Without formats the settings are the user's.
  await account.post("/api/v2/clusters", { labels: ["own"], engine: LOCAL, spark_config: own });
  await account.put("/api/v2/clusters/own", { table_formats: ["delta"] }).refused(422, /^spark_config/);
  await account.put("/api/v2/clusters/own", { table_formats: ["delta"], spark_config: {} });
  await account.put("/api/v2/clusters/own", { spark_config: own }).refused(422, /^spark_config/);
  await account.put("/api/v2/clusters/own", { engine: CONNECT }).refused(422, /^table_formats/);
  await account.post("/api/v2/clusters/own/clone", { labels: ["far"], engine: CONNECT }).refused(422, /^table_formats/);
  expect(await account.get("/api/v2/clusters/own")).toMatchObject({
    table_formats: ["delta"],
    spark_config: {},
    engine: LOCAL,
  });
});
