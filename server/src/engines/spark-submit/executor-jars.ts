import type { OwnJars } from "../spark-home/spark-home.ts";

type Properties = Readonly<Record<string, string>>;

/** Whether tasks run in the driver's own JVM. Otherwise executors use the Spark of a remote cluster. */
export function runsHere({ "spark.master": master = "local" }: Properties): boolean {
  return master.startsWith("local");
}

/** The jars that a warm server sends to remote executors, after the configured ones. Their own Spark lacks them. */
export function executorJars(properties: Properties, ownJars: OwnJars): Properties {
  if (runsHere(properties)) return {};
  return { "spark.jars": [...listed(properties["spark.jars"]), ...sentJars(properties, ownJars)].join(",") };
}

/** The same for a program's driver, as words for spark-submit. `requested`: the jars in the program's own words. */
export function executorWords(properties: Properties, ownJars: OwnJars, requested: string | undefined): string[] {
  if (runsHere(properties)) return [];
  const jars = [...listed(requested ?? properties["spark.jars"]), ...sentJars(properties, ownJars)];
  return ["--jars", jars.join(",")];
}

function listed(jars = ""): string[] {
  return jars.split(",").filter(Boolean);
}

/** Our classes, which write to `storage:/`, and those for S3, which an account without S3 keys does not need. */
function sentJars(properties: Properties, { jvm, extra }: OwnJars): readonly string[] {
  const hasKeys = Object.keys(properties).some((name) => name.startsWith("spark.hadoop.fs.s3a."));
  return hasKeys ? [jvm, ...extra] : [jvm];
}
