import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { repositoryDir } from "../support/repository-dir.ts";
import { SeededRandom } from "./seeded-random.ts";

const VITEST = join(repositoryDir, "node_modules/vitest/vitest.mjs");
const TEST = "server/src/catalog/metastores/database-outage.full.test.ts";
/** The outages of the test, in seconds. */
const OUTAGES = [5, 9, 13, 17, 21, 26];

/**
 * Runs one outage of the test in which a script runs on a real Spark, with a real metastore, while PostgreSQL is away:
 * the stub of Spark has no tables that an outage could hide. Returns whether it passed.
 */
export async function runSparkOutage(seed: number): Promise<boolean> {
  const seconds = new SeededRandom(seed).pick(OUTAGES);
  const options = ["run", "--project", "full", TEST, "--testNamePattern", `away for ${seconds} s`];
  const child = spawn(process.execPath, [VITEST, ...options], { cwd: repositoryDir, stdio: "inherit" });
  const [exitCode] = (await once(child, "exit")) as [number | null];
  return exitCode === 0;
}
