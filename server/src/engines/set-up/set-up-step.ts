/** What the set-up is doing, for a progress bar, a log line or somebody whose command waits for it. */
export interface SetUpStep {
  readonly text: string;
  /** 0–100, where the length of the step is known. */
  readonly percent?: number;
}

export interface SetUpContext {
  readonly cacheDir: string;
  readonly signal: AbortSignal;
  readonly progress: (step: SetUpStep) => void;
}

export function describeStep({ text, percent }: SetUpStep): string {
  return percent === undefined ? text : `${text} (${percent} %)`;
}
