import type { CheckedOptions } from "./submit-rules.ts";

/** Options that say nothing of the JVM itself, of its user or of its interpreter. */
const options = new Set(
  [
    "--archives --class --conf --deploy-mode --exclude-packages --executor-cores --executor-memory --files --jars",
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
