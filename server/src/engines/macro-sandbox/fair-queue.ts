/** First come, first served for each key, and the keys by turns: one that asks much does not keep the others waiting. */
export class FairQueue<T> {
  readonly #byKey = new Map<string, T[]>();
  readonly #limitByKey: number;

  constructor(limitByKey: number) {
    this.#limitByKey = limitByKey;
  }

  /** False: the key has enough waiting already. */
  add(key: string, item: T): boolean {
    const items = this.#byKey.get(key) ?? [];
    if (items.length >= this.#limitByKey) return false;
    items.push(item);
    this.#byKey.set(key, items);
    return true;
  }

  /** The next one of a key that may have one. */
  take(isAllowed: (key: string) => boolean): { key: string; item: T } | undefined {
    for (const [key, [item, ...others]] of this.#byKey) {
      if (item === undefined || !isAllowed(key)) continue;
      this.#byKey.delete(key);
      if (others.length > 0) this.#byKey.set(key, others);
      return { key, item };
    }
    return undefined;
  }
}
