/**
 * The order of the files:
 *
 * 1. Files that start servers as processes, because these take longest.
 * 2. Files that need Spark, after half of the others, so that Spark is set up meanwhile in a first run.
 * 3. Files that share a server run last, so that no shared server sits idle.
 *
 * Without stored durations, larger files of each kind run first, so that no worker is left alone with a long one.
 */
import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

export class SparkInTheMiddle extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const byProject = Map.groupBy(await super.sort(files), ({ project }) => project);
    return [...byProject.values()].flatMap((sorted) => {
      const needing = sorted.filter(({ moduleId }) => needsSpark(moduleId));
      const rest = sorted.filter((file) => !needing.includes(file));
      const starting = rest.filter(({ moduleId }) => startsServers(moduleId));
      const sharing = rest.filter((file) => !starting.includes(file) && sharesServer(file.moduleId));
      const alone = rest.filter((file) => !starting.includes(file) && !sharing.includes(file));
      const others = [...starting, ...alone, ...sharing];
      const half = Math.ceil(others.length / 2);
      return [...others.slice(0, half), ...needing, ...others.slice(half)];
    });
  }
}

/** Each file that needs Spark has a condition for machines without it. */
export function needsSpark(path: string): boolean {
  return readFileSync(path, "utf8").includes("/spark-missing.ts");
}

/** Without a stored duration the order goes by size, but such a file takes long even if it is short. */
function startsServers(path: string): boolean {
  return /(node-process|headgate-process|stub-installation|scratch-cluster|scratch-metastore|own-spark|use-nodes|three-nodes|run-chaos)\.ts"/.test(
    readFileSync(path, "utf8"),
  );
}

function sharesServer(path: string): boolean {
  return readFileSync(path, "utf8").includes("useSharedServer()");
}
