/**
 * Decides which settings users may set. A setting is an option of spark-submit (`--master`) or a property
 * (`spark.master`). A name that ends with a dot stands for every property with that prefix.
 *
 * | table   | on a command line             | in `spark_config` | in an operator's own file |
 * |---------|-------------------------------|-------------------|---------------------------|
 * | guarded | refused                       | refused           | left out                  |
 * | refused | refused                       | refused           | applied                   |
 * | owned   | left out and named in the log | refused           | left out                  |
 */
const server = "the server sets it";
const identity = "the server decides which user a program runs as";
const clusterDecides = "the cluster's label decides where a program runs";
const notARun = "it does not run a program";

/** These settings keep accounts apart. */
const guarded: Reasons = {
  "spark.authenticate": server,
  "spark.authenticate.": server,
  "spark.headgate.metastore.": server,
  "spark.io.encryption.": server,
  "spark.network.crypto.": server,
};

const refused: Reasons = {
  "--driver-default-class-path": "only Spark's own shells have it; use --driver-class-path",
  "--help": notARun,
  "--keytab": identity,
  "--kill": notARun,
  "--principal": identity,
  "--properties-file": "the server gives the properties; use --conf",
  "--proxy-user": identity,
  "--remote": clusterDecides,
  "--status": notARun,
  "--usage-error": notARun,
  "--version": notARun,
  // The driver proves that it knows the metastore's secret through this setting.
  "spark.hadoop.hadoop.user.group.static.mapping.overrides": server,
  "spark.kerberos.keytab": identity,
  "spark.kerberos.principal": identity,
  "spark.launcher.": server,
  "spark.network.sasl.": server,
  "spark.remote": clusterDecides,
  "spark.yarn.keytab": identity,
  "spark.yarn.principal": identity,
};

/** Scripts written for other platforms often set these. Some exist only in earlier versions of Spark. */
const owned = [
  "--deploy-mode",
  "--load-spark-defaults",
  "--supervise",
  "spark.app.id",
  "spark.blockManager.port",
  "spark.broadcast.port",
  "spark.driver.bindAddress",
  "spark.driver.blockManager.port",
  "spark.driver.host",
  "spark.driver.port",
  "spark.driver.supervise",
  "spark.eventLog.",
  "spark.executor.port",
  "spark.fileserver.port",
  "spark.hadoop.fs.AbstractFileSystem.storage.",
  "spark.hadoop.fs.storage.",
  "spark.headgate.",
  "spark.local.dir",
  "spark.log.callerContext",
  "spark.replClassServer.port",
  "spark.submit.",
  "spark.test.appId",
  "spark.ui.",
  "spark.yarn.tags",
];

type Reasons = Readonly<Record<string, string>>;

/** Another form of `--py-files`, so it is an exception among the settings that the server owns. */
const FILES_OF_THE_PROGRAM = "spark.submit.pyFiles";

/** The reason why users may not set it; undefined: they may. */
export function refusalOf(name: string): string | undefined {
  return reasonIn(guarded, name) ?? reasonIn(refused, name);
}

/**
 * Whether the setting is removed from a command line. `runsHere`: tasks run in the driver's own JVM, so a local master
 * is kept because it sets the number of cores.
 */
export function isServerOwned(name: string, value: string, runsHere: boolean): boolean {
  if (name === "--master" || name === "spark.master") return !(runsHere && LOCAL_MASTER.test(value));
  return isInOwned(name);
}

/** `local`, `local[2]`, `local[*]`, `local[2,3]`: the number of cores, and how often a task may fail. */
const LOCAL_MASTER = /^local(\[([1-9]\d{0,5}|\*)( *, *[1-9]\d{0,5})?\])?$/;

/** Whether the setting is removed from an operator's own file. */
export function isProtected(key: string): boolean {
  return reasonIn(guarded, key) !== undefined || isInOwned(key);
}

function isInOwned(name: string): boolean {
  return name !== FILES_OF_THE_PROGRAM && ruleIn(owned, name) !== undefined;
}

/** Looks up a setting in a table whose names may end with a dot. */
export function reasonIn(reasons: Reasons, name: string): string | undefined {
  return reasons[ruleIn(Object.keys(reasons), name) ?? ""];
}

function ruleIn(names: readonly string[], name: string): string | undefined {
  return names.find((each) => (each.endsWith(".") ? name.startsWith(each) : name === each));
}
