/** Returns a function that runs the tasks passed to it, at most `limit` at a time; the others wait in order. */
export function limitConcurrency(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running < limit) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The slot goes to the next task, or becomes free.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

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

  /** Runs `work` while it holds a slot. */
  async run<T>(key: Key, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(key);
    try {
      return await work();
    } finally {
      release();
    }
  }
}
