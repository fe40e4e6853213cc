import { mkdirSync } from "node:fs";
import type { Config } from "./config.ts";
import { ensureBubblewrap } from "./processes/sandbox/find-bubblewrap.ts";
import { printSparsely, type ShowProgress } from "./processes/set-up/set-up-step.ts";
import { fetchFormatJars } from "./engines/table-formats/format-jars.ts";
import { TABLE_FORMATS } from "./engines/table-formats/table-format.ts";
import { fetchPythonPackages, PYTHON_PACKAGES, whyNoPackages } from "./engines/spark-home/python-packages.ts";
import { ensureSparkHome } from "./engines/spark-home/spark-home.ts";
import { Terminal, type TerminalStream } from "./lib/terminal/terminal.ts";

/**
 * `npm run setup`: downloads and builds everything that a later start needs, for images and machines without a network.
 * Table formats are downloaded only if they are named.
 */
export async function setUpAll(
  config: Config,
  stdout: TerminalStream,
  formatNames: readonly string[] = [],
): Promise<void> {
  const formats = TABLE_FORMATS.filter((format) => formatNames.includes(format));
  const unknown = formatNames.find((name) => !TABLE_FORMATS.some((format) => format === name));
  if (unknown !== undefined) throw new Error(`${unknown} is not a table format: ${TABLE_FORMATS.join(", ")}`);
  const { cacheDir, sparkHome, javaHome } = config;
  // If we are root, other users must be able to read it, whatever our umask is; an existing folder keeps its mode.
  mkdirSync(cacheDir, { recursive: true, mode: 0o755 });
  const terminal = new Terminal(stdout);
  const say = (line: string): void => terminal.writeLine(line);
  const progress = progressPrinter(terminal, say);
  const homes = { cacheDir, sparkHome: sparkHome ?? undefined, javaHome: javaHome ?? undefined };
  const { signal } = new AbortController();
  try {
    // Tested as our own user. The start of the server reports whether programs can use it.
    const bubblewrap = await ensureBubblewrap(undefined, { cacheDir, signal, progress });
    const home = await ensureSparkHome({ ...homes, signal, progress, warn: say });
    const { version, archive, python } = home;
    const noPackages = whyNoPackages(python);
    for (const format of formats) await fetchFormatJars(format, home, { cacheDir, signal, progress });
    progress(undefined);
    if (bubblewrap.kind !== "usable") say(bubblewrap.reason);
    say(
      `Spark ${version} is set up in ${cacheDir}${archive === undefined ? ", without the archive for fast starts" : ""}.`,
    );
    // Last: everything else works without them.
    if (noPackages !== undefined) say(`Programs have no ${PYTHON_PACKAGES}: ${noPackages}`);
    else if (python !== undefined) await fetchPythonPackages(python, { signal, progress });
    progress(undefined);
  } catch (error) {
    progress(undefined);
    // The output of pip or Ivy is more useful to an operator than our own message.
    if (error instanceof Error && error.cause instanceof Error) say(error.cause.message);
    throw error;
  }
}

/** On a terminal, redraws one line; elsewhere, prints a few lines. */
function progressPrinter(terminal: Terminal, say: (line: string) => void): ShowProgress {
  if (terminal.isInteractive) return (step) => terminal.showProgress(step);
  const print = printSparsely(say);
  return (step) => {
    if (step !== undefined) print(step);
  };
}
