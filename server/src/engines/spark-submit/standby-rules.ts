import { javaOptionsOf } from "./java-options.ts";
import type { CheckedOptions } from "./submit-rules.ts";

/** Options that say nothing of the JVM itself, of its user or of its interpreter. */
const options = new Set(
  [
    "--archives --class --conf --exclude-packages --executor-cores --executor-memory --files --jars",
    "--master --name --num-executors --packages --py-files --queue --repositories --total-executor-cores --verbose",
  ].flatMap((names) => names.split(" ")),
);

/** Properties that belong to a session and die with it; what others do in a JVM that had one is not known. */
const properties =
  /^spark\.(app\.name|master|submit\.|files|archives|jars|default\.|dynamicAllocation\.|executor\.|executorEnv\.|hadoop\.(fs|mapreduce|parquet)\.|kryo|rdd\.|scheduler\.|serializer|shuffle\.|speculation|sql\.(?!hive\.|catalogImplementation|warehouse\.)|stage\.|task\.)/;

/** Whether a driver that was started before anything was known of the program does exactly what one of its own would. */
export function fitsStandby({ given, properties: set }: CheckedOptions): boolean {
  return given.every(({ name }) => options.has(name)) && [...set.keys()].every((key) => properties.test(key));
}

/**
 * Properties of the account, its catalog, a cluster or an app that bring no code into a JVM and name none that Spark
 * would run in its first session: no jars, listeners, plugins, extensions, libraries.
 */
const idle = new RegExp(
  `^spark\\.(${[
    "app\\.name$|default\\.parallelism$|driver\\.(cores|defaultJavaOptions|extraJavaOptions|maxResultSize|memory)$",
    "dynamicAllocation\\.|executor\\.(cores|instances|memory|memoryOverhead)$|locality\\.wait|master$",
    "hadoop\\.(fs\\.s3[an]?\\.|hive\\.metastore\\.(connect\\.retries|sasl\\.enabled|token\\.signature|uris)$)",
    "hadoop\\.(mapreduce|parquet)\\.|headgate\\.",
    "kryoserializer\\.buffer|memory\\.(fraction|storageFraction)$|network\\.timeout$|pyspark\\.(driver\\.)?python$",
    "rdd\\.compress$|serializer$|shuffle\\.(compress|file\\.buffer|spill\\.compress)$|speculation|task\\.(cpus|maxFailures)$",
    "sql\\.(adaptive|ansi|autoBroadcastJoinThreshold|broadcastTimeout|caseSensitive|catalogImplementation$|cbo|codegen)",
    "sql\\.(crossJoin|csv|debug|execution|files|join|json|legacy|mapKeyDedupPolicy|optimizer|orc|parquet|pivotMaxValues)",
    "sql\\.(repl|session|shuffle|sources|statistics|storeAssignmentPolicy|timestampType|warehouse\\.dir$)",
  ].join("|")})`,
);

const idleJavaOption =
  /^-(Xss\d+[kmg]?|XX:[+-]Use\w+GC|Dfile\.encoding=[\w-]+|Duser\.(country|language|timezone)=[\w/+-]+)$/i;

/**
 * Whether a JVM that is made of them runs nobody's code before it has a program: nothing of a command holds for it yet,
 * no timeout, no cap, no cancel.
 */
export function waitsIdly(properties: Readonly<Record<string, string>>): boolean {
  return (
    Object.keys(properties).every((key) => idle.test(key)) &&
    javaOptionsOf(properties, "spark_config").every((word) => idleJavaOption.test(word))
  );
}
