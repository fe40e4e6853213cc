import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "./log.ts";

export interface ProbeTimes {
  /** For so long after an answer the server counts as alive without another request. */
  readonly goodForMs: number;
  /** The least time between two requests. */
  readonly everyMs?: number;
}

export interface LivenessProbeOptions extends ProbeTimes {
  /** False: no answer came. Rejects when the request could not be sent, which says nothing about the server. */
  readonly ask: () => Promise<boolean>;
  /** Aborted: the result is not needed any more. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** A JVM can pause for long, and ending it loses the work it does: only so many unanswered requests in a row count. */
const REQUESTS = 12;
const EVERY_MS = 5_000;

/** Finds out whether a server that is running still answers. */
export class LivenessProbe {
  readonly #options: LivenessProbeOptions;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #probing: Promise<boolean> | undefined;

  constructor(options: LivenessProbeOptions) {
    this.#options = options;
  }

  /** True only after a minute without an answer. Concurrent callers share one probe. */
  async isSilent(): Promise<boolean> {
    if (performance.now() - this.#answeredAt < this.#options.goodForMs) return false;
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = undefined;
    });
    return this.#probing;
  }

  /** Counts requests rather than time, because this process may have been suspended meanwhile. */
  async #probe(): Promise<boolean> {
    const { ask, signal, log, everyMs = EVERY_MS } = this.#options;
    for (let request = 0; request < REQUESTS; request += 1) {
      const beganAt = performance.now();
      try {
        if (await ask()) {
          this.#answeredAt = performance.now();
          return false;
        }
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, "a liveness probe could not be sent");
        return false;
      }
      const restMs = Math.max(0, everyMs - (performance.now() - beganAt));
      await delay(restMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return false;
    }
    return true;
  }
}
