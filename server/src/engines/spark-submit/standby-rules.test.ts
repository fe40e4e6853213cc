import { expect, it } from "vitest";
import { renderHandOver, standbyCommandLine } from "./standby-command-line.ts";
import { fitsStandby, runsNoUserCode } from "./standby-rules.ts";
import { checkArguments } from "./submit-rules.ts";

it.each([
  [],
  ["--name", "nightly", "--verbose"],
  ["--conf", "spark.sql.shuffle.partitions=2", "-c", "spark.executor.memory=2g"],
  ["--jars", "a.jar", "--py-files", "b.zip", "--files", "c", "--class", "Main"],
  ["--conf", "spark.hadoop.fs.s3a.endpoint=x", "--conf", "spark.serializer=K"],
  ["--master", "yarn", "--deploy-mode", "client", "--supervise", "--load-spark-defaults"],
  ["--conf", "spark.ui.enabled=false", "--conf", "spark.driver.port=7001", "--conf", "spark.local.dir=/x"],
  ["--conf", "spark.hadoop.fs.storage.impl=x.Y"],
  ["--master", "local[2]"],
])("a program with %j may run in a standby driver", (...words) => {
  expect(fitsStandby(checkArguments(words, { field: "arguments" }))).toBe(true);
});

it.each([
  ["--driver-memory", "2g"],
  ["--conf", "spark.driver.memory=2g"],
  ["--driver-java-options", "-Da=b"],
  ["--driver-class-path", "a.jar"],
  ["--driver-library-path", "/x"],
  ["--conf", "spark.pyspark.python=/env/bin/python"],
  ["--conf", "spark.sql.hive.metastore.jars=maven"],
  ["--conf", "spark.sql.catalogImplementation=in-memory"],
  ["--conf", "spark.hadoop.hadoop.security.group.mapping=X"],
  ["--conf", "spark.never.heard.of=1"],
])("a program with %j gets a JVM of its own", (...words) => {
  expect(fitsStandby(checkArguments(words, { field: "arguments" }))).toBe(false);
});

it("a standby driver may have the properties of S3, a catalog and a tuned cluster", () => {
  const catalog = {
    "spark.sql.catalogImplementation": "hive",
    "spark.hadoop.hive.metastore.uris": "thrift://127.0.0.1:9083",
    "spark.hadoop.hive.metastore.connect.retries": "60",
    "spark.hadoop.hive.metastore.sasl.enabled": "true",
    "spark.hadoop.hive.metastore.token.signature": "headgate",
    "spark.headgate.metastore.secret": "s",
  };
  const storage = {
    "spark.sql.warehouse.dir": "s3a://b/warehouse",
    "spark.hadoop.fs.s3.impl": "S3AFileSystem",
    "spark.hadoop.fs.s3a.endpoint.region": "eu",
    "spark.hadoop.fs.storage.impl": "headgate.storage.StorageFileSystem",
    "spark.hadoop.fs.storage.location": "s3a://b",
    "spark.hadoop.fs.AbstractFileSystem.storage.impl": "headgate.storage.StorageContext",
  };
  const tuned = {
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:+UseG1GC -Duser.timezone=Europe/Paris -Xss4m",
    "spark.executor.instances": "3",
    "spark.sql.shuffle.partitions": "8",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
  };
  expect(runsNoUserCode({ ...storage, ...catalog, ...tuned })).toBe(true);
});

it.each([
  ["spark.driver.extraJavaOptions", "-javaagent:/x.jar"],
  ["spark.driver.defaultJavaOptions", "-Xss4m -agentpath:/x.so"],
  ["spark.driver.extraJavaOptions", "-XX:OnOutOfMemoryError=/x"],
  ["spark.driver.extraJavaOptions", "-Dspark.extraListeners=X"],
  ["spark.driver.extraClassPath", "/x.jar"],
  ["spark.driver.extraLibraryPath", "/x"],
  ["spark.extraListeners", "X"],
  ["spark.jars", "x.jar"],
  ["spark.jars.packages", "a:b:1"],
  ["spark.plugins", "X"],
  ["spark.sql.extensions", "X"],
  ["spark.sql.hive.metastore.jars.path", "/x.jar"],
  ["spark.sql.queryExecutionListeners", "X"],
  ["spark.sql.streaming.streamingQueryListeners", "X"],
  ["spark.shuffle.manager", "X"],
  ["spark.never.heard.of", "1"],
])("no standby driver is started with %s=%j, which may load users' code", (key, value) => {
  expect(runsNoUserCode({ [key]: value })).toBe(false);
});

const home = {
  folder: "/spark",
  java: { path: "/java/bin/java", home: "/java" },
  python: { path: "/usr/bin/python3", localPath: "/python/bin/python3" },
  javaArguments: "/launch/java.args",
  classPath: ["/spark/jars/a.jar"],
  ownJars: { jvm: "/jvm.jar", extra: [] },
  driverPython: "/launch/wrappers/python",
  driverR: "/launch/wrappers/R",
  archive: "/launch/classes.jsa",
};

it("a standby driver has the JVM settings of its cluster, and its secrets in a file", () => {
  const { argv, env, propertiesText, memoryMiB } = standbyCommandLine({
    home,
    properties: {
      "spark.driver.memory": "2g",
      "spark.driver.extraJavaOptions": "-Da=b",
      "spark.hadoop.fs.s3a.secret.key": "hunter2",
      "spark.pyspark.python": "/env/bin/python",
      "spark.master": "spark://elsewhere:7077",
    },
    classPath: ["/more.jar"],
    propertiesFile: "/input/standby.properties",
    defaultMemoryMiB: 1024,
    scratchFolder: "/scratch/.spark",
    userHome: "/work",
  });
  expect(memoryMiB).toBe(2048);
  expect(argv).toEqual(expect.arrayContaining(["-Xmx2048m", "-Da=b", "/spark/jars/a.jar:/more.jar"]));
  expect(argv.slice(-2)).toEqual(["headgate.standby.StandbyDriver", "/input/standby.properties"]);
  expect(JSON.stringify([argv, env])).not.toContain("hunter2");
  expect(propertiesText).toContain("hunter2");
  expect(propertiesText).toContain("spark.master=local[1]\n");
  expect(env["HEADGATE_DRIVER_PYTHON"]).toBe("/env/bin/python");
});

it("a hand-over begins with its length, so that a partial one is recognised", () => {
  expect(renderHandOver(["--name", "two words", ""])).toBe("3\0--name\0two words\0\0");
  expect(() => renderHandOver(["a\0b"])).toThrow("an argument contains a NUL");
});
