import type { OwnJars } from "../spark-home/spark-home.ts";

type Properties = Readonly<Record<string, string>>;

/** Whether tasks run in the driver's own JVM; elsewhere executors have a Spark of somebody else's. */
export function runsHere({ "spark.master": master = "local" }: Properties): boolean {
  return master.startsWith("local");
}

/** What the driver hands to executors elsewhere, behind what it is told to: they cannot have it from anywhere else. */
export function executorJars(properties: Properties, { jvm, extra }: OwnJars): Properties {
  if (runsHere(properties)) return {};
  const given = properties["spark.jars"]?.split(",").filter(Boolean) ?? [];
  const usesS3 = Object.keys(properties).some((name) => name.startsWith("spark.hadoop.fs.s3a."));
  return { "spark.jars": [...given, jvm, ...(usesS3 ? extra : [])].join(",") };
}
