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

export function describeStep({ text, percent }: SetUpStep): string {
  return percent === undefined ? text : `${text} (${percent} %)`;
}
