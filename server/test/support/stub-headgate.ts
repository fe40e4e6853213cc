import { readFileSync } from "node:fs";
import { pino } from "pino";
import { readConfig } from "../../src/config.ts";
import { start } from "../../src/start.ts";
import { repositoryDir } from "./repository-dir.ts";
import { stubDriver } from "./stub-driver.ts";

/** `headgate start` with the stub driver instead of Spark, as an entry for `startHeadgate`. */
const isRoot = process.getuid?.() === 0;
const config = readConfig(process.env, { repositoryDir, isRoot, readFile: (path) => readFileSync(path, "utf8") });
const stop = new AbortController();
const say = (line: string): boolean => process.stdout.write(`${line}\n`);
const never = new AbortController().signal;
const signals = { stop: stop.signal, hurry: never, everything: never };
const headgate = await start(config, pino({ level: "warn" }, process.stderr), say, signals, { driver: stubDriver });
process.on("SIGTERM", () => void headgate.stop().then(() => process.exit(0)));
process.on("SIGUSR2", () => void headgate.stop({ everything: true }).then(() => process.exit(0)));
