/**
 * A rate limit with a burst: `take` returns 0, or the seconds to wait. It refills by the given time and needs no timer.
 */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #refilledAtMs: number | undefined;

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
  }

  take(nowMs: number): number {
    const elapsedSeconds = Math.max(0, nowMs - (this.#refilledAtMs ?? nowMs)) / 1000;
    this.#refilledAtMs = nowMs;
    this.#tokens = Math.min(this.#burst, this.#tokens + elapsedSeconds * this.#perSecond);
    if (this.#tokens < 1) return (1 - this.#tokens) / this.#perSecond;
    this.#tokens -= 1;
    return 0;
  }
}
