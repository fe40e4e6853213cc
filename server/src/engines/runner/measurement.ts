import { monotonicMs } from "./monotonic.ts";

/** Work in steps, some milliseconds at each check: timeout, cancel and lease are looked at in between. */
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

  /** Undefined: there is more to do. One that throws is over. */
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
