import type { OwnJars } from "../spark-home/spark-home.ts";

type Properties = Readonly<Record<string, string>>;

/** Whether tasks run in the driver's own JVM; elsewhere executors have a Spark of somebody else's. */
export function runsHere({ "spark.master": master = "local" }: Properties): boolean {
  return master.startsWith("local");
}

/** What a server hands to executors elsewhere, behind what it is told to: they cannot have it from anywhere else. */
export function executorJars(properties: Properties, ownJars: OwnJars): Properties {
  if (runsHere(properties)) return {};
  return { "spark.jars": [...listed(properties["spark.jars"]), ownJars.jvm, ...s3Jars(properties, ownJars)].join(",") };
}

/** And what a program's driver does, as words for spark-submit; `asked`: by the program's own words. */
export function executorWords(properties: Properties, ownJars: OwnJars, asked: string | undefined): string[] {
  const jars = runsHere(properties) ? [] : s3Jars(properties, ownJars);
  return jars.length === 0 ? [] : ["--jars", [...listed(asked ?? properties["spark.jars"]), ...jars].join(",")];
}

function listed(jars = ""): string[] {
  return jars.split(",").filter(Boolean);
}

/** Spark comes without them; an account without keys needs none. */
function s3Jars(properties: Properties, { extra }: OwnJars): readonly string[] {
  return Object.keys(properties).some((name) => name.startsWith("spark.hadoop.fs.s3a.")) ? extra : [];
}
