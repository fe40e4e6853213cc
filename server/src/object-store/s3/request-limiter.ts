/**
 * Limits the requests in flight to what the store can take. When the store asks to slow down, the limit halves; each
 * success raises it a little, until it is back at its maximum.
 */
export class RequestLimiter {
  readonly #maximum: number;
  #limit: number;
  #running = 0;
  /** Requests that began before the last halving do not halve the limit again. */
  #generation = 0;
  readonly #waiting = new Set<() => void>();

  constructor(maximum: number) {
    this.#maximum = maximum;
    this.#limit = maximum;
  }

  /** The requests that may run at the same time now. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  get generation(): number {
    return this.#generation;
  }

  /** Takes a slot if one is free. Otherwise the caller must wait for `enter`. */
  tryEnter(): boolean {
    if (this.#running >= this.limit || this.#waiting.size > 0) return false;
    this.#running += 1;
    return true;
  }

  enter(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        signal?.removeEventListener("abort", stop);
        resolve();
      };
      const stop = (): void => {
        this.#waiting.delete(admit);
        reject(signal?.reason as Error); // whatever the caller has given
      };
      this.#waiting.add(admit);
      signal?.addEventListener("abort", stop, { once: true });
      if (signal?.aborted === true) stop();
    });
  }

  leave(): void {
    this.#running -= 1;
    this.#admit();
  }

  succeeded(): void {
    if (this.#limit >= this.#maximum) return;
    this.#limit = Math.min(this.#maximum, this.#limit + 1 / this.#limit);
    this.#admit();
  }

  slowDown(generation: number): void {
    if (generation !== this.#generation) return;
    this.#generation += 1;
    this.#limit = Math.max(1, this.#limit / 2);
  }

  #admit(): void {
    for (const admit of this.#waiting) {
      if (this.#running >= this.limit) return;
      this.#waiting.delete(admit);
      this.#running += 1;
      admit();
    }
  }
}
