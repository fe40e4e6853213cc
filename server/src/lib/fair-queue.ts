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
