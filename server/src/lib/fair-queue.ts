interface LimitsByKey<Key> {
  readonly waiting: number;
  /** How many items may be taken and not yet released. */
  readonly taken: (key: Key) => number;
}

interface Taken<T> {
  readonly item: T;
  release(): void;
}

/** First come, first served within each key, and keys in turn: a key with many items does not delay the others. */
export class FairQueue<T, Key = string> {
  readonly #waiting = new Map<Key, T[]>();
  readonly #taken = new Map<Key, number>();
  readonly #limits: LimitsByKey<Key>;

  constructor(limits: LimitsByKey<Key>) {
    this.#limits = limits;
  }

  /** False if too many items of the key are waiting. */
  add(key: Key, item: T): boolean {
    const items = this.#waiting.get(key) ?? [];
    if (items.length >= this.#limits.waiting) return false;
    items.push(item);
    this.#waiting.set(key, items);
    return true;
  }

  take(): Taken<T> | undefined {
    for (const [key, items] of this.#waiting) {
      const taken = this.#taken.get(key) ?? 0;
      if (taken >= this.#limits.taken(key)) continue;
      const item = items.shift();
      this.#waiting.delete(key);
      if (item === undefined) continue;
      if (items.length > 0) this.#waiting.set(key, items);
      this.#taken.set(key, taken + 1);
      return { item, release: () => this.#release(key) };
    }
    return undefined;
  }

  #release(key: Key): void {
    const left = (this.#taken.get(key) ?? 0) - 1;
    if (left > 0) this.#taken.set(key, left);
    else this.#taken.delete(key);
  }
}

/** A semaphore with a fixed number of slots. Waiting keys are served in turn. */
export class FairSemaphore<Key> {
  readonly #queue: FairQueue<(release: () => void) => void, Key>;
  #free: number;
  #waiting = 0;

  /** `maxPerKey`: how many slots a key may hold at a time. */
  constructor(all: number, maxPerKey: (key: Key) => number) {
    this.#queue = new FairQueue({ waiting: Infinity, taken: maxPerKey });
    this.#free = all;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves to a function that releases the slot. */
  acquire(key: Key): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<() => void>();
    this.#queue.add(key, resolve);
    this.#waiting += 1;
    this.#admit();
    return promise;
  }

  #admit(): void {
    while (this.#free > 0) {
      const taken = this.#queue.take();
      if (taken === undefined) return;
      this.#free -= 1;
      this.#waiting -= 1;
      taken.item(() => {
        this.#free += 1;
        taken.release();
        this.#admit();
      });
    }
  }
}
