/** A node as a separate process, with an existing database; see `node-process.ts`. */
import { flushCompileCache } from "node:module";
import { pino } from "pino";
import { startApp } from "../../src/app.ts";
import { readConfig } from "../../src/config.ts";
import { repositoryDir } from "./repository-dir.ts";
import { silenceClockByFile } from "./silence-clock.ts";
import { withStubCopies } from "./stub-copy.ts";
import { stubDriver } from "./stub-driver.ts";
import { stubStandby } from "./stub-standby.ts";

const {
  CONNECTION = "{}",
  TEST_LOG = "silent",
  TEST_SPARK = "0",
  TEST_STANDBY = "0",
  TEST_ORPHAN_SECONDS,
  TEST_SILENCE,
  TEST_STUB_COPIES = "0",
  ...env
} = process.env;
const driver = TEST_STANDBY === "1" ? stubStandby() : stubDriver;
const app = await startApp({
  config: readConfig(env, { repositoryDir, isRoot: false, readFile: () => "" }),
  connection: JSON.parse(CONNECTION) as object, // written by `startNode`
  log: pino({ level: TEST_LOG }),
  isIsolated: true, // the programs are ours, and isolation has its own tests
  ...(TEST_ORPHAN_SECONDS === undefined ? {} : { orphanSeconds: Number(TEST_ORPHAN_SECONDS) }),
  ...(TEST_SILENCE === undefined ? {} : { silenceClock: silenceClockByFile(TEST_SILENCE) }),
  ...(TEST_STUB_COPIES === "1" ? { commandKinds: withStubCopies } : {}),
  ...(TEST_SPARK === "1" ? { setsUpSpark: true } : { driver }),
});
process.stdout.write(`ready ${app.url}\n`);
flushCompileCache(); // now, because most nodes are killed
process.on("SIGTERM", () => void app.stop().then(() => process.exit(0)));
process.on("SIGINT", () => void app.stop(undefined, { everything: true }).then(() => process.exit(0)));
