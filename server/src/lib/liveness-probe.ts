import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "./log.ts";

export interface LookTimes {
  /** Who has answered so lately is not asked again. */
  readonly goodForMs: number;
  /** What a look without an answer takes at least. */
  readonly everyMs?: number;
}

export interface AnsweringOptions extends LookTimes {
  /** False: no answer came. Fails when it could not be asked, which tells nothing of it. */
  readonly ask: () => Promise<boolean>;
  /** Aborted: nobody wants to know any more. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** In a row: a JVM may be busy with itself for long, and what it does ends with it. */
const LOOKS = 12;
const EVERY_MS = 5_000;

/** Whether a server that lives answers, too. */
export class Answering {
  readonly #options: AnsweringOptions;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<boolean> | undefined;

  constructor(options: AnsweringOptions) {
    this.#options = options;
  }

  /** True only after a minute without an answer. Those who ask at the same time wait for one another's looks. */
  async isSilent(): Promise<boolean> {
    if (performance.now() - this.#answeredAt < this.#options.goodForMs) return false;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Looks are counted: when we were stopped ourselves, the time says nothing. */
  async #look(): Promise<boolean> {
    const { ask, signal, log, everyMs = EVERY_MS } = this.#options;
    for (let look = 0; look < LOOKS; look += 1) {
      const beganAt = performance.now();
      try {
        if (await ask()) {
          this.#answeredAt = performance.now();
          return false;
        }
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, "a server could not be asked whether it answers");
        return false;
      }
      const restMs = Math.max(0, everyMs - (performance.now() - beganAt));
      await delay(restMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return false;
    }
    return true;
  }
}
