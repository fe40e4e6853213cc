import { monotonicMs } from "./monotonic.ts";

/** Splits long work into steps of some milliseconds, so that timeout, cancel and lease are checked in between. */
export class Measurement {
  readonly #stepMs: number;
  #current: Generator<undefined, number> | undefined;
  #workMs = 0;

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  get isUnderWay(): boolean {
    return this.#current !== undefined;
  }

  begin(steps: Generator<undefined, number>): void {
    this.#current = steps;
    this.#workMs = 0;
  }

  /** Undefined: there is more to do. An exception ends the measurement. */
  advance(): { readonly result: number; readonly workMs: number } | undefined {
    const steps = this.#current;
    if (steps === undefined) return undefined;
    this.#current = undefined;
    const begin = monotonicMs();
    for (;;) {
      const { done, value } = steps.next();
      const tookMs = monotonicMs() - begin;
      if (done === true) return { result: value, workMs: this.#workMs + tookMs };
      if (tookMs < this.#stepMs) continue;
      this.#workMs += tookMs;
      this.#current = steps;
      return undefined;
    }
  }
}
