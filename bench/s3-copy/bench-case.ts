import type { Workbench } from "./workbench.ts";

export interface BenchCase {
  /** For `--help`. */
  readonly does: string;
  /** Returns whether all aims are reached. */
  run(bench: Workbench): Promise<boolean>;
}

/** This machine cannot run the case; the message says why. */
export class CannotMeasureError extends Error {
  override readonly name = "CannotMeasureError";
}
