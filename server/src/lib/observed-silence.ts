/**
 * Measures how long each of several processes has shown no new sign of life, by the observer's monotonic clock. Only
 * the time between two observations of the same sign counts: an observer that has just started, was suspended or could
 * not read the signs knows nothing of the time before. Wall clocks are not used.
 */
export class ObservedSilence<Key> {
  readonly #maxGapMs: number;
  #seen: ReadonlyMap<Key, { readonly sign: string; readonly silentMs: number }> = new Map();
  #observedAt: number | undefined;

  /** A longer gap between two observations does not count. */
  constructor({ maxGapMs }: { readonly maxGapMs: number }) {
    this.#maxGapMs = maxGapMs;
  }

  /**
   * `askedAt` and `answeredAt` are monotonic milliseconds before and after the signs were read. Keys without a sign are
   * forgotten.
   */
  observe(signs: Iterable<readonly [Key, string]>, askedAt: number, answeredAt: number): void {
    const gapMs = this.#observedAt === undefined ? 0 : askedAt - this.#observedAt;
    const countedMs = gapMs > 0 && gapMs <= this.#maxGapMs ? gapMs : 0;
    const before = this.#seen;
    this.#seen = new Map(
      [...signs].map(([key, sign]) => {
        const last = before.get(key);
        return [key, { sign, silentMs: last?.sign === sign ? last.silentMs + countedMs : 0 }];
      }),
    );
    this.#observedAt = answeredAt;
  }

  /** 0 also for unknown keys. */
  silentMs(key: Key): number {
    return this.#seen.get(key)?.silentMs ?? 0;
  }
}
