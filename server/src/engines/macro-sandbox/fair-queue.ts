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

  take(): T | undefined {
    const [first] = this.#byKey;
    if (first === undefined) return undefined;
    const [key, items] = first;
    const item = items.shift();
    this.#byKey.delete(key);
    if (items.length > 0) this.#byKey.set(key, items);
    return item;
  }
}
