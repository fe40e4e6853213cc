import { javaOptionsOf } from "./java-options.ts";
import { isFormatProperty } from "../table-formats/format-properties.ts";
import type { CheckedOptions } from "./submit-rules.ts";

/** Options that affect neither the JVM itself nor its user or interpreter. */
const options = new Set(
  [
    "--archives --class --conf --exclude-packages --executor-cores --executor-memory --files --jars",
    "--master --name --num-executors --packages --py-files --queue --repositories --total-executor-cores --verbose",
  ].flatMap((names) => names.split(" ")),
);

/** Properties that only affect a session. The effect of others in a JVM that had a session before is unknown. */
const properties =
  /^spark\.(app\.name|master|submit\.|files|archives|jars|default\.|dynamicAllocation\.|executor\.|executorEnv\.|hadoop\.(fs|mapreduce|parquet)\.|kryo|rdd\.|scheduler\.|serializer|shuffle\.|speculation|sql\.(?!hive\.|catalogImplementation|warehouse\.)|stage\.|task\.)/;

/** Whether a standby driver runs the program exactly like a driver that is started for it. */
export function fitsStandby({ given, properties: set }: CheckedOptions): boolean {
  return given.every(({ name }) => options.has(name)) && [...set.keys()].every((key) => properties.test(key));
}

/**
 * Properties of the account, its catalog, a cluster or an app that load no users' code in Spark's first session: no
 * jars, listeners, plugins, extensions or libraries.
 */
const codeFree = new RegExp(
  `^spark\\.(${[
    "app\\.name$|default\\.parallelism$|driver\\.(cores|defaultJavaOptions|extraJavaOptions|maxResultSize|memory)$",
    "dynamicAllocation\\.|executor\\.(cores|instances|memory|memoryOverhead)$|locality\\.wait|master$",
    "hadoop\\.(fs\\.(AbstractFileSystem\\.storage|s3[an]?|storage)\\.|hive\\.metastore\\.(connect\\.retries|sasl\\.enabled|token\\.signature|uris)$)",
    "hadoop\\.(mapreduce|parquet)\\.|headgate\\.",
    "kryoserializer\\.buffer|memory\\.(fraction|storageFraction)$|network\\.timeout$|pyspark\\.(driver\\.)?python$",
    "rdd\\.compress$|serializer$|shuffle\\.(compress|file\\.buffer|spill\\.compress)$|speculation|task\\.(cpus|maxFailures)$",
    "sql\\.(adaptive|ansi|autoBroadcastJoinThreshold|broadcastTimeout|caseSensitive|catalogImplementation$|cbo|codegen)",
    "sql\\.(crossJoin|csv|debug|execution|files|join|json|legacy|mapKeyDedupPolicy|optimizer|orc|parquet|pivotMaxValues)",
    "sql\\.(repl|session|shuffle|sources|statistics|storeAssignmentPolicy|timestampType|warehouse\\.dir$)",
  ].join("|")})`,
);

const codeFreeJavaOption =
  /^-(Xss\d+[kmg]?|XX:[+-]Use\w+GC|Dfile\.encoding=[\w-]+|Duser\.(country|language|timezone)=[\w/+-]+)$/i;

/**
 * Whether a JVM with these properties runs no users' code before it has a program. This matters because no timeout, cap
 * or cancel of a command applies to it until then. The properties of table formats name classes: those with our values
 * are ours.
 */
export function runsNoUserCode(properties: Readonly<Record<string, string>>): boolean {
  return (
    Object.entries(properties).every(([key, value]) => codeFree.test(key) || isFormatProperty(key, value)) &&
    javaOptionsOf(properties, "spark_config").every((word) => codeFreeJavaOption.test(word))
  );
}
