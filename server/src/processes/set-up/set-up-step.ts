import type { ProgressStep } from "../../lib/terminal/terminal.ts";

/** The current step of the set-up, for a progress bar, a log line or a user whose command waits for it. */
export type SetUpStep = ProgressStep;

/** Shows a step on a terminal; undefined: the set-up has ended. */
export type ShowProgress = (step: SetUpStep | undefined) => void;

export interface SetUpContext {
  readonly cacheDir: string;
  readonly signal: AbortSignal;
  readonly progress: (step: SetUpStep) => void;
}

/** `Downloading Spark (30 %)`, `Unpacking Spark (812 MB)`. */
export function describeStep({ text, percent, bytes = 0 }: SetUpStep): string {
  if (percent !== undefined) return `${text} (${percent} %)`;
  return bytes < 1e6 ? text : `${text} (${Math.floor(bytes / 1e6)} MB)`;
}

const LINE_PERCENT = 10;
const LINE_BYTES = 200e6;

/** For outputs other than a terminal: prints a line for each step, for each tenth of it, and for each 200 MB. */
export function printSparsely(print: (line: string) => void): (step: SetUpStep) => void {
  let last = "";
  return ({ text, percent, bytes = 0 }) => {
    const step =
      percent === undefined || percent < LINE_PERCENT ? { text } : { text, percent: floor(percent, LINE_PERCENT) };
    const line = describeStep({ ...step, bytes: percent === undefined ? floor(bytes, LINE_BYTES) : 0 });
    if (line !== last) print(line);
    last = line;
  };
}

function floor(value: number, unit: number): number {
  return value - (value % unit);
}
