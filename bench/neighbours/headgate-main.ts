/**
 * `headgate start` with a shell instead of Spark's driver: programs get the same resources as with Spark, but start at
 * once. Their event logs are read like those of Spark. SIGTERM stops everything, including programs.
 */
import { readFileSync } from "node:fs";
import { pino } from "pino";
import type { ProgramDriver } from "../../server/src/commands/programs/program-driver.ts";
import { sparkDriver } from "../../server/src/commands/programs/spark-driver.ts";
import { readConfig } from "../../server/src/config.ts";
import { eventLogs } from "../../server/src/engines/spark-submit/event-log/event-logs.ts";
import { start } from "../../server/src/start.ts";
import { repositoryDir } from "../../server/test/support/repository-dir.ts";
import { stubDriver } from "../../server/test/support/stub-driver.ts";
import { profileOnSignal } from "./profile-on-signal.ts";

const log = pino({ level: "error" }, process.stderr);
const spark = sparkDriver(
  { current: () => ({ state: "failed", detail: "this benchmark runs without Spark" }) },
  () => Promise.reject(new Error("this benchmark runs without Spark")),
  eventLogs({ log }),
);
const driver: ProgramDriver = {
  ...stubDriver,
  memoryMiB: (command) => spark.memoryMiB(command),
  followProgress: (...files) => spark.followProgress(...files),
};
const { BENCH_PROFILE } = process.env;
if (BENCH_PROFILE !== undefined) profileOnSignal(BENCH_PROFILE);
const isRoot = process.getuid?.() === 0;
const config = readConfig(process.env, { repositoryDir, isRoot, readFile: (path) => readFileSync(path, "utf8") });
const stop = new AbortController();
const never = new AbortController().signal;
const headgate = await start(
  config,
  log,
  (line) => process.stdout.write(`${line}\n`),
  { stop: stop.signal, hurry: never, everything: never },
  { driver },
);
process.on("SIGTERM", () => void headgate.stop({ everything: true }).then(() => process.exit(0)));
