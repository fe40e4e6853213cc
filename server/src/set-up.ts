import { mkdirSync } from "node:fs";
import type { Config } from "./config.ts";
import { ensureBubblewrap } from "./engines/sandbox/find-bubblewrap.ts";
import { describeStep, type ShowProgress } from "./engines/set-up/set-up-step.ts";
import { ensureSparkHome } from "./engines/spark-home/spark-home.ts";
import { Terminal, type TerminalStream } from "./lib/terminal/terminal.ts";

/** `npm run setup`: fetches and builds everything a later start would, for images and machines without a network. */
export async function setUpAll(config: Config, stdout: TerminalStream): Promise<void> {
  const { cacheDir, sparkHome, javaHome } = config;
  // As root others have to read it, whatever our umask is; an existing one keeps its mode.
  mkdirSync(cacheDir, { recursive: true, mode: 0o755 });
  const terminal = new Terminal(stdout);
  const say = (line: string): void => terminal.writeLine(line);
  const progress = stepTeller(terminal, say);
  const places = { cacheDir, sparkHome: sparkHome ?? undefined, javaHome: javaHome ?? undefined };
  const { signal } = new AbortController();
  try {
    // Tried as our own user. The start of the server tells whether programs can use it.
    const bubblewrap = await ensureBubblewrap(undefined, { cacheDir, signal, progress });
    const { version, archive } = await ensureSparkHome({ ...places, signal, progress, warn: say });
    progress(undefined);
    if (bubblewrap.kind !== "usable") say(bubblewrap.reason);
    say(`Spark ${version} is set up in ${cacheDir}${archive === undefined ? ", without fast starts" : ""}.`);
  } catch (error) {
    progress(undefined);
    // What pip or Ivy said tells an operator more than that it failed.
    if (error instanceof Error && error.cause instanceof Error) say(error.cause.message);
    throw error;
  }
}

/** On a terminal, redraws one line; elsewhere, prints a line for each step and for each tenth of it. */
function stepTeller(terminal: Terminal, say: (line: string) => void): ShowProgress {
  if (terminal.isInteractive) return (step) => terminal.showProgress(step);
  let told = "";
  return (step) => {
    if (step === undefined) return;
    const { percent } = step;
    const line = describeStep(percent === undefined ? step : { ...step, percent: percent - (percent % 10) });
    if (line !== told) say(line);
    told = line;
  };
}
