import { describe, expect, test } from "vitest";
import { checkSparkConfig } from "./spark-config.ts";

describe("a stored configuration", () => {
  test("may set Spark's properties, in any order", () => {
    const config = {
      "spark.sql.shuffle.partitions": "8",
      "spark.driver.memory": "2g",
      "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:+UseG1GC",
      "spark.hadoop.fs.s3a.bucket.my-bucket.endpoint": "https://s3.example.com",
      "spark.executorEnv.LANG": "C.UTF-8",
    };
    expect(checkSparkConfig(config, "spark_config")).toBe(config);
  });

  test.each([
    ["spark.authenticate", "false", /may not set spark\.authenticate: the server sets it/],
    ["spark.authenticate.secret", "x", /may not set spark\.authenticate\.secret/],
    ["spark.kerberos.keytab", "/x", /may not set spark\.kerberos\.keytab/],
    ["spark.launcher.port", "1", /may not set spark\.launcher\.port/],
    ["spark.ui.port", "0", /may not set spark\.ui\.port/],
    ["spark.eventLog.dir", "/tmp", /may not set spark\.eventLog\.dir/],
    ["spark.headgate.command", "1", /may not set spark\.headgate\.command/],
    ["spark.hadoop.fs.storage.impl", "x.Y", /may not set spark\.hadoop\.fs\.storage\.impl: the server sets it/],
    ["spark.hadoop.fs.AbstractFileSystem.storage.impl", "x.Y", /may not set .*: the server sets it/],
    ["spark.master", "local[2]", /may not set spark\.master: the engine of the cluster/],
    ["spark.submit.deployMode", "client", /may not set spark\.submit\.deployMode/],
    ["spark.remote", "sc://x", /may not set spark\.remote/],
    ["spark.connect.grpc.binding.port", "1", /may not set spark\.connect\.grpc\.binding\.port/],
    ["spark.scheduler.mode", "FIFO", /may not set spark\.scheduler\.mode: use the pools/],
    ["spark.hive.metastore.uris", "thrift://x:1", /may not set spark\.hive\.metastore\.uris/],
    ["spark.hadoop.javax.jdo.option.ConnectionURL", "x", /may not set spark\.hadoop\.javax\.jdo/],
    ["spark.hadoop.fs.s3a.secret.key", "x", /may not set .*s3a\.secret\.key: a configuration is visible/],
    ["spark.hadoop.fs.s3a.bucket.b.access.key", "x", /may not set .*access\.key/],
    ["spark.executorEnv.DB_PASSWORD", "x", /may not set spark\.executorEnv\.DB_PASSWORD/],
    ["spark.driver.memory", "lots", /has spark\.driver\.memory "lots", which is not a size/],
    ["spark.executor.cores", "two", /has spark\.executor\.cores "two", which is not a whole number/],
    ["spark.driver.extraJavaOptions", "-Xmx9g", /may not have -Xmx/],
    ["spark.driver.extraJavaOptions", "-agentlib:jdwp=server=y", /may not have -agentlib:jdwp in spark\.driver/],
    ["spark.executor.extraJavaOptions", "-Xrunjdwp:server=y", /may not have -Xrunjdwp/],
    ["spark.driver.defaultJavaOptions", "-XX:MaxHeapSize=9g", /may not have -XX:MaxHeapSize/],
    ["spark.driver.extraJavaOptions", "-Dx=y -mx9g", /may not have -mx/],
    ["spark.driver.extraJavaOptions", "-cp /tmp", /may not have the Java option -cp/],
    ["my.key", "x", /has the key "my\.key"/],
    ["spark.a=b", "x", /has the key "spark\.a=b"/],
    ["spark.a b", "x", /has the key/],
    ["spark.é", "x", /has the key/],
    ["spark.", "x", /has the key/],
    [`spark.${"x".repeat(250)}`, "x", /has the key/],
  ])("refuses %s=%s and names the key", (key, value, message) => {
    expect(() => checkSparkConfig({ "spark.app.name": "ok", [key]: value }, "spark_config")).toThrow(message);
    expect(() => checkSparkConfig({ [key]: value }, "spark_config")).toThrow(/^spark_config /);
  });

  test("has limits for the number of keys and for the total size", () => {
    const keys = (count: number, value: string): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`spark.k${at}`, value]));
    expect(() => checkSparkConfig(keys(200, "x"), "config")).not.toThrow();
    expect(() => checkSparkConfig(keys(201, "x"), "config")).toThrow(/^config must have at most 200 keys/);
    expect(() => checkSparkConfig(keys(10, "é".repeat(4000)), "config")).toThrow(
      /^config must have at most 65536 bytes/,
    );
  });
});
