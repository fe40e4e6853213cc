import { mkdirSync } from "node:fs";
import type { Config } from "./config.ts";
import { ensureBubblewrap } from "./engines/sandbox/find-bubblewrap.ts";
import { describeStep, type SetUpStep } from "./engines/set-up/set-up-step.ts";
import { ensureSparkHome } from "./engines/spark-home/spark-home.ts";

/** `npm run setup`: fetches and builds everything a later start would, for images and machines without a network. */
export async function setUpAll(config: Config, say: (line: string) => void, terminal: Terminal): Promise<void> {
  const { cacheDir, sparkHome, javaHome } = config;
  // As root others have to read it, whatever our umask is; an existing one keeps its mode.
  mkdirSync(cacheDir, { recursive: true, mode: 0o755 });
  const { show: progress, end } = progressBar(terminal, say);
  const places = { cacheDir, sparkHome: sparkHome ?? undefined, javaHome: javaHome ?? undefined };
  const { signal } = new AbortController();
  try {
    // Tried as ourselves: whether programs can use it is told at the start.
    const bubblewrap = await ensureBubblewrap(undefined, { cacheDir, signal, progress });
    const { version, archive } = await ensureSparkHome({ ...places, signal, progress, warn: say });
    end();
    if (bubblewrap.kind !== "usable") say(bubblewrap.reason);
    say(`Spark ${version} is set up in ${cacheDir}${archive === undefined ? ", without fast starts" : ""}.`);
  } catch (error) {
    end();
    // What pip or Ivy said tells an operator more than that it failed.
    if (error instanceof Error && error.cause instanceof Error) say(error.cause.message);
    throw error;
  }
}

export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const barWidth = 30;

/** A bar that redraws itself on a terminal; elsewhere a line at each step and each tenth of it. */
function progressBar(
  terminal: Terminal,
  say: (line: string) => void,
): {
  readonly show: (step: SetUpStep) => void;
  readonly end: () => void;
} {
  let drawn = "";
  let told = "";
  const end = (): void => {
    if (drawn !== "") terminal.write("\n");
    drawn = "";
  };
  const draw = ({ text, percent }: SetUpStep): void => {
    if (drawn !== "" && drawn !== text) end();
    const filled = Math.round((barWidth * (percent ?? 0)) / 100);
    const bar = percent === undefined ? "" : ` [${"#".repeat(filled)}${"-".repeat(barWidth - filled)}] ${percent} %`;
    terminal.write(`\r${text}${bar}\u001B[K`);
    drawn = text;
  };
  const tell = (step: SetUpStep): void => {
    const line = describeStep(
      step.percent === undefined ? step : { ...step, percent: step.percent - (step.percent % 10) },
    );
    if (line !== told) say(line);
    told = line;
  };
  return { show: terminal.isTTY === true ? draw : tell, end };
}
