/** Writes the messages anew from the installed Spark: `npm run generate:spark`, after another Spark was pinned. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../src/config.ts";
import { installedSparkFolder } from "../../src/engines/spark-home/install-spark.ts";
import { generateMessages, messagesFolder } from "./generate-messages.ts";

const { cacheDir } = readConfig(
  { HEADGATE_CACHE_DIR: process.env.HEADGATE_CACHE_DIR, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME, HOME: homedir() },
  { repositoryDir: join(import.meta.dirname, "../../.."), isRoot: process.getuid?.() === 0, readFile: () => "" },
);
const messages = await generateMessages(installedSparkFolder(cacheDir));
rmSync(messagesFolder, { recursive: true, force: true });
mkdirSync(messagesFolder);
for (const [name, text] of messages) writeFileSync(join(messagesFolder, name), text);
