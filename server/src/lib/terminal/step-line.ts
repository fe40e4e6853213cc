/** A step of a long operation. */
export interface ProgressStep {
  readonly text: string;
  /** 0–100, if the length of the step is known. */
  readonly percent?: number;
}

const MAX_BAR_WIDTH = 30;
const MIN_BAR_WIDTH = 8;

/** `Downloading Spark [#########---------------------] 30 % 0:42`; the bar takes the columns that are left. */
export function stepLine({ text, percent }: ProgressStep, seconds: number, columns: number): string {
  const elapsed = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  if (percent === undefined) return `${text} ${elapsed}`.slice(0, columns);
  const tail = `${percent} % ${elapsed}`;
  const width = Math.min(MAX_BAR_WIDTH, columns - text.length - tail.length - " [] ".length);
  if (width < MIN_BAR_WIDTH) return `${text} ${tail}`.slice(0, columns);
  const filled = Math.round((width * percent) / 100);
  return `${text} [${"#".repeat(filled)}${"-".repeat(width - filled)}] ${tail}`;
}
