import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "./log.ts";

export interface ProbeTimes {
  /** After an answer the server counts as alive for this long, without another request. */
  readonly goodForMs: number;
  /** Minimum time between two requests. */
  readonly everyMs?: number;
}

export interface LivenessProbeOptions extends ProbeTimes {
  /** False: no answer came. Rejects when the request could not be sent, which says nothing about the server. */
  readonly request: () => Promise<boolean>;
  /** Aborted: the result is not needed any more. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** A JVM can pause for long, and ending it loses its work, so it counts as silent only after this many in a row. */
const MAX_UNANSWERED = 12;
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
    const { request, signal, log, everyMs = EVERY_MS } = this.#options;
    for (let attempt = 0; attempt < MAX_UNANSWERED; attempt += 1) {
      const beganAt = performance.now();
      try {
        if (await request()) {
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
