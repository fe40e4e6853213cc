/**
 * Measures how long each of several things has shown no new sign of life, by the observer's monotonic clock. Only time
 * between two looks counts in which the sign stayed the same: an observer that has just started, was suspended or could
 * not look knows nothing of the time before. Wall clocks play no part, neither the observer's nor that of whoever
 * writes the signs.
 */
export class ObservedSilence<Key> {
  readonly #longestGapMs: number;
  #seen: ReadonlyMap<Key, { readonly sign: string; readonly silentMs: number }> = new Map();
  #lookedAt: number | undefined;

  /** A longer gap between two looks does not count: too much may have happened in it. */
  constructor({ longestGapMs }: { readonly longestGapMs: number }) {
    this.#longestGapMs = longestGapMs;
  }

  /**
   * `askedAt` and `answeredAt`: monotonic milliseconds before and after the signs were read. Things that are missing are
   * forgotten.
   */
  look(signs: Iterable<readonly [Key, string]>, askedAt: number, answeredAt: number): void {
    const gapMs = this.#lookedAt === undefined ? 0 : askedAt - this.#lookedAt;
    const countedMs = gapMs > 0 && gapMs <= this.#longestGapMs ? gapMs : 0;
    const before = this.#seen;
    this.#seen = new Map(
      [...signs].map(([key, sign]) => {
        const last = before.get(key);
        return [key, { sign, silentMs: last?.sign === sign ? last.silentMs + countedMs : 0 }];
      }),
    );
    this.#lookedAt = answeredAt;
  }

  /** 0 also for what was never seen. */
  silentMs(key: Key): number {
    return this.#seen.get(key)?.silentMs ?? 0;
  }
}
