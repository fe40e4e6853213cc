/**
 * Writes what the tests of `engines/arrow-result` read: `npm run generate:spark-values`, after another Spark was pinned
 * or a case was added. Takes a minute.
 */
import { writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../src/config.ts";
import { findSparkHome } from "../../test/support/connect-server.ts";
import { captureValues } from "./capture.ts";
import { valueCases } from "./cases.ts";

const { cacheDir } = readConfig(
  { HEADGATE_CACHE_DIR: process.env.HEADGATE_CACHE_DIR, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME, HOME: homedir() },
  { repositoryDir: join(import.meta.dirname, "../../.."), isRoot: process.getuid?.() === 0, readFile: () => "" },
);
const captured = await captureValues(await findSparkHome(cacheDir), valueCases);
const file = join(import.meta.dirname, "../../src/engines/arrow-result/fixtures/spark-values.json");
writeFileSync(file, `${JSON.stringify(captured, null, 2)}\n`);
