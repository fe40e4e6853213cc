import type { OwnJars } from "../spark-home/spark-home.ts";

type Properties = Readonly<Record<string, string>>;

/** Whether tasks run in the driver's own JVM. Otherwise executors use the Spark of a remote cluster. */
export function runsHere({ "spark.master": master = "local" }: Properties): boolean {
  return master.startsWith("local");
}

/** The jars of a driver that executors elsewhere need, because their own Spark lacks them. */
export interface DriverJars {
  readonly own: OwnJars;
  /** The contributed class path of the driver, which can have folders, too. */
  readonly classPath: readonly string[];
}

/** The jars that a warm server sends to remote executors, after the configured ones. */
export function executorJars(properties: Properties, jars: DriverJars): Properties {
  if (runsHere(properties)) return {};
  return { "spark.jars": [...listed(properties["spark.jars"]), ...sentJars(properties, jars)].join(",") };
}

/** The same for a program's driver, as words for spark-submit. `requested`: the jars in the program's own words. */
export function executorWords(properties: Properties, ofDriver: DriverJars, requested: string | undefined): string[] {
  if (runsHere(properties)) return [];
  const jars = [...listed(requested ?? properties["spark.jars"]), ...sentJars(properties, ofDriver)];
  return ["--jars", jars.join(",")];
}

function listed(jars = ""): string[] {
  return jars.split(",").filter(Boolean);
}

/**
 * Our classes, which write to `storage:/`, those for S3, which an account without S3 keys does not need, and the jars of
 * the class path.
 */
function sentJars(properties: Properties, { own: { jvm, extra }, classPath }: DriverJars): readonly string[] {
  const hasKeys = Object.keys(properties).some((name) => name.startsWith("spark.hadoop.fs.s3a."));
  return [jvm, ...(hasKeys ? extra : []), ...classPath.filter((path) => path.endsWith(".jar"))];
}
