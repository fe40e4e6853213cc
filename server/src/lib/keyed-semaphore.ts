/** A semaphore per key. Callers wait for a slot of their own key, first come, first served. */
export class KeyedSemaphore<Key> {
  readonly #limit: () => number;
  readonly #keys = new Map<Key, { taken: number; waiting: (() => void)[] }>();

  /** `limit` is called each time, so the number may change. */
  constructor(limit: () => number) {
    this.#limit = limit;
  }

  /** Resolves to a function that releases the slot. */
  async acquire(key: Key): Promise<() => void> {
    const slots = this.#keys.get(key) ?? { taken: 0, waiting: [] };
    this.#keys.set(key, slots);
    if (slots.taken < this.#limit()) slots.taken += 1;
    else await new Promise<void>((resolve) => slots.waiting.push(resolve));
    return () => {
      slots.taken -= 1;
      while (slots.taken < this.#limit()) {
        const next = slots.waiting.shift();
        if (next === undefined) break;
        slots.taken += 1;
        next();
      }
      if (slots.taken === 0) this.#keys.delete(key);
    };
  }
}
