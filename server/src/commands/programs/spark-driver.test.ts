import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { noEventLogs } from "../../../test/support/no-event-logs.ts";
import { runProgram } from "../../../test/support/programs.ts";
import { stubSparkHome } from "../../../test/support/stub-spark-home.ts";
import { sparkCluster, type SparkClusterRules } from "../../clusters/spark-cluster.ts";
import { mergeContributions, NOTHING_CONTRIBUTED } from "../../engines/spark-home/contribution.ts";
import { findR } from "../../engines/spark-home/find-r.ts";
import type { PythonState } from "../../engines/spark-home/python-set-up.ts";
import { commandFiles } from "../execution/command-files.ts";
import { sparkDriver } from "./spark-driver.ts";

const home = stubSparkHome();
const hadoopConf = mkdtempSync(join(tmpdir(), "headgate-hadoop-"));
afterAll(() => rmSync(hadoopConf, { recursive: true }));

/** A Spark whose programs all lack pandas, on a machine without R. */
const java = join(hadoopConf, "java");
writeFileSync(
  java,
  `#!/bin/sh\nprintf "Traceback (most recent call last):\\nModuleNotFoundError: No module named 'pandas'\\n" >&2\nexit 1\n`,
);
chmodSync(java, 0o755);
chmodSync(hadoopConf, 0o755);
let packages: PythonState;
const given = useServer({
  settings: { HEADGATE_HADOOP_CONFS: `prod=${hadoopConf}`, HEADGATE_ALLOWED_NETWORKS: "127.0.0.0/8,10.0.0.0/8" },
  driver: sparkDriver(
    {
      current: () => ({ state: "ready", detail: "", home: { ...stubSparkHome(java), readOnlyFolders: [hadoopConf] } }),
    },
    () => Promise.resolve(NOTHING_CONTRIBUTED),
    noEventLogs,
    { current: () => packages },
    (folder) => findR(folder, []),
  ),
});

test("an R program on a node without R ends as an error that says what to install, and is not tried again", async () => {
  const account = await given.account();
  const body = { command_type: "SparkCommand", language: "R", program: "cat(1)", retry: 1 };
  const { id } = await account.post("/commands", body);
  await expect.poll(() => account.get(`/commands/${id}`)).toMatchObject({ status: "error" });
  const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
  expect(log).toMatch(/R is not installed: (run .*reticulate|install R with)/);
  expect((await account.get(`/commands/${id}/attempts`)).attempts).toHaveLength(1);
});

test.each([
  [
    { state: "installing", detail: "Downloading" },
    "still being installed for the server's Python: run it again in a few minutes",
  ],
  [
    { state: "failed", detail: "pip failed" },
    "cannot be installed for the server's Python: pip failed; an operator finds the cause",
  ],
] as const)("a program that needs pandas while the set-up is %j says so in its error", async (state, advice) => {
  packages = state;
  const account = await given.account();
  const id = await runProgram(account, "import pandas");
  const { attempts } = await account.get(`/commands/${id}/attempts`);
  expect(attempts[0]?.cause).toContain(advice);
  const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
  expect(log).toContain(advice);
});

interface LineOptions {
  rules?: Partial<SparkClusterRules>;
  /** Properties of its storage and its catalog. */
  ofAccount?: Record<string, string>;
}

/** The launch of a Python program on a cluster that was created through the API. */
async function lineOn(
  engine: object,
  sparkConfig: object = { "spark.executor.instances": "3" },
  { rules = {}, ofAccount = {} }: LineOptions = {},
) {
  const account = await given.account();
  const body = { labels: ["there"], engine, spark_config: sparkConfig };
  const { id: clusterId } = await account.post("/api/v2/clusters", body);
  const { db, keys, config } = given.app.services;
  const clusterOf = sparkCluster(db, keys, { ...config, ...rules });
  const driver = sparkDriver(
    { current: () => ({ state: "ready", detail: "", home }) },
    async (scope) => mergeContributions([{ properties: ofAccount }, await clusterOf(scope.accountId, scope.clusterId)]),
    noEventLogs,
  );
  const { accountId } = account;
  const command = {
    id: 7,
    accountId,
    clusterId,
    appId: null,
    pool: null,
    kind: "program",
    commandType: "SparkCommand",
  };
  const run = {
    command: { ...command, command: { language: "python", program: "" }, options: null, resolvedMacros: null },
    programText: "print(1)",
    requestId: "r",
    attempt: 1,
    fence: 1,
    timeoutSeconds: 60,
    elapsedSeconds: 0,
    files: commandFiles(given.dataDir, accountId, 7).attempt(1),
  };
  const folders = { work: "/headgate/work", input: "/input", eventLogFolder: "/events", applicationId: "command-7-1" };
  const { argv, env, files, readOnly, handOver } = await driver.commandLine(run, folders);
  const lines = (files["spark.properties"] ?? "").split("\n").map((line) => line.split(/=(.*)/));
  const properties = Object.fromEntries(lines.map(([key = "", value = ""]) => [key, value]));
  return { argv, env, properties, readOnly, handOver };
}

function writeDefaults(lines: string[]): void {
  writeFileSync(join(hadoopConf, "spark-defaults.conf"), lines.join("\n"));
}

const submission = [
  "--properties-file",
  "/input/spark.properties",
  "--jars",
  home.ownJars.jvm,
  "--conf",
  "spark.pyspark.driver.python=/launch/wrappers/python",
  "/input/program.py",
];

test("a program on Kubernetes is submitted in client mode to its API server, with its image and namespace", async () => {
  const engine = {
    type: "kubernetes",
    api_server: "https://10.0.0.7:6443",
    image: "repo/spark:4",
    namespace: "etl",
  };
  const { argv, env, properties, handOver } = await lineOn(engine);
  expect(argv.slice(argv.indexOf("headgate.driver.Driver"))).toEqual(["headgate.driver.Driver", ...submission]);
  expect(properties).toMatchObject({
    "spark.master": "k8s://https://10.0.0.7:6443",
    "spark.kubernetes.container.image": "repo/spark:4",
    "spark.kubernetes.namespace": "etl",
    "spark.executor.instances": "3",
    "spark.driver.bindAddress": "0.0.0.0",
    "spark.driver.host": expect.stringMatching(/^[1-9][\d.]+$/),
    "spark.authenticate": "true",
    "spark.ui.enabled": "false",
  });
  expect(properties).not.toHaveProperty(["spark.submit.deployMode"]);
  expect(env["SPARK_LOCAL_IP"]).toBe("0.0.0.0");
  expect(handOver).toBeUndefined();
});

test("a program on YARN has the operator's configuration in its environment, on its class path and in its sandbox", async () => {
  const { argv, env, properties, readOnly, handOver } = await lineOn({ type: "yarn", hadoop_conf: "prod" });
  expect(properties).toMatchObject({
    "spark.master": "yarn",
    "spark.authenticate": "true",
    "spark.driver.bindAddress": "0.0.0.0",
    "spark.driver.host": expect.stringMatching(/^[1-9][\d.]+$/),
  });
  expect(env).toMatchObject({ HADOOP_CONF_DIR: hadoopConf, SPARK_LOCAL_IP: "0.0.0.0" });
  expect(argv[argv.indexOf("-cp") + 1]?.split(":")).toContain(hadoopConf);
  expect(readOnly).toContain(hadoopConf);
  expect(handOver).toBeUndefined();
});

test("the operator's settings of a YARN cluster apply to its programs unless the cluster sets them", async () => {
  const lines = ["# of this cluster", "spark.driver.host 10.0.0.5", "spark.driver.bindAddress=10.0.0.5"];
  const others = ["spark.executor.instances: 9", "  spark.yarn.queue = etl", "spark.master local", "unknown 1"];
  writeDefaults([...lines, ...others]);
  const { env, properties } = await lineOn({ type: "yarn", hadoop_conf: "prod" });
  expect(properties).toMatchObject({
    "spark.driver.host": "10.0.0.5",
    "spark.executor.instances": "3",
    "spark.yarn.queue": "etl",
    "spark.master": "yarn",
  });
  expect(properties).not.toHaveProperty("unknown");
  expect(env["SPARK_LOCAL_IP"]).toBe("10.0.0.5");
});

test("the settings of the account and the server take precedence over the file of a YARN cluster", async () => {
  const ofAccount = {
    "spark.hadoop.fs.s3a.access.key": "own",
    "spark.hadoop.hive.metastore.uris": "thrift://127.0.0.1:7",
    "spark.sql.warehouse.dir": "file:/own",
  };
  const others = {
    "spark.authenticate": "false",
    "spark.eventLog.dir": "hdfs:///logs",
    "spark.hadoop.fs.s3a.access.key": "common",
    "spark.hadoop.hive.metastore.sasl.enabled": "true",
    "spark.hadoop.hive.metastore.uris": "thrift://common:9083",
    "spark.headgate.metastore.secret": "common",
    "spark.local.dir": "/mnt/spark",
    "spark.sql.hive.metastore.version": "2.3.9",
    "spark.sql.warehouse.dir": "hdfs:///common",
    "spark.submit.deployMode": "cluster",
  };
  const allowed = { "spark.driver.port": "7001", "spark.hadoop.fs.s3a.connection.maximum": "9" };
  writeDefaults(Object.entries({ ...others, ...allowed }).map((setting) => setting.join(" ")));
  const { properties } = await lineOn({ type: "yarn", hadoop_conf: "prod" }, {}, { ofAccount });
  expect(properties).toMatchObject({
    ...ofAccount,
    ...allowed,
    "spark.authenticate": "true",
    "spark.eventLog.dir": "file:///events",
    "spark.local.dir": "/headgate/work/.spark",
    "spark.submit.deployMode": "client",
  });
  for (const key of ["hadoop.hive.metastore.sasl.enabled", "headgate.metastore.secret", "sql.hive.metastore.version"]) {
    expect(properties).not.toHaveProperty([`spark.${key}`]);
  }
});

test("an error names a Hadoop configuration that the operator has removed", async () => {
  await expect(
    lineOn({ type: "yarn", hadoop_conf: "prod" }, {}, { rules: { hadoopConfs: new Map() } }),
  ).rejects.toThrow("HEADGATE_HADOOP_CONFS does not contain prod any more");
  const gone = new Map([["prod", join(hadoopConf, "gone")]]);
  await expect(lineOn({ type: "yarn", hadoop_conf: "prod" }, {}, { rules: { hadoopConfs: gone } })).rejects.toThrow(
    "the folder of prod in HEADGATE_HADOOP_CONFS cannot be read on this node",
  );
});

test("an error names an operator's file that cannot be read, and its configuration", async () => {
  const folder = join(hadoopConf, "unreadable");
  mkdirSync(join(folder, "spark-defaults.conf"), { recursive: true });
  const rules = { hadoopConfs: new Map([["prod", folder]]) };
  await expect(lineOn({ type: "yarn", hadoop_conf: "prod" }, {}, { rules })).rejects.toThrow(
    "spark-defaults.conf of prod in HEADGATE_HADOOP_CONFS cannot be read on this node",
  );
});

test("a program on a standalone cluster of this machine listens on loopback alone", async () => {
  const engine = { type: "standalone", master_url: "spark://127.0.0.1:7077", token: "the cluster's" };
  const { properties, handOver } = await lineOn(engine);
  expect(properties).toMatchObject({
    "spark.master": "spark://127.0.0.1:7077",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
    "spark.authenticate.secret": "the cluster's",
  });
  expect(handOver).toBeUndefined();
});

test("on a standalone cluster without a secret an account runs nothing while others could read its keys", async () => {
  await given.account();
  const engine = { type: "standalone", master_url: "spark://127.0.0.1:7077" };
  await expect(lineOn(engine)).rejects.toThrow(/requires no secret.*engine\.token.*HEADGATE_ISOLATION=none/);
  expect((await lineOn(engine, {}, { rules: { isolation: "none" } })).properties).toMatchObject({
    "spark.authenticate": "false",
  });
});

test("a program uses a standby driver, unless its cluster's settings would run users' code in that driver", async () => {
  expect((await lineOn({ type: "local" })).handOver).toBeDefined();
  expect((await lineOn({ type: "local" }, { "spark.extraListeners": "com.example.Miner" })).handOver).toBeUndefined();
});

test("a standby driver waits for no download, so that those of other accounts can start", async () => {
  const driver = sparkDriver(
    { current: () => ({ state: "ready", detail: "", home }) },
    async (_, onWait) => {
      onWait?.("waiting for a download");
      return new Promise<never>(() => undefined);
    },
    noEventLogs,
  );
  const scope = { accountId: 1, clusterId: 1, appId: null };
  await expect(driver.standby?.(scope, { work: "/headgate/work", input: "/input" })).rejects.toThrow(
    "a standby driver would be waiting for a download",
  );
});
