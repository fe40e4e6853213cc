/** The same number of places for each key. Callers wait for one of their own key, first come, first served. */
export class KeyedPlaces<Key> {
  readonly #most: () => number;
  readonly #keys = new Map<Key, { taken: number; waiting: (() => void)[] }>();

  /** `most` is asked each time, so the number may change. */
  constructor(most: () => number) {
    this.#most = most;
  }

  /** Resolves to a function that frees the place. */
  async enter(key: Key): Promise<() => void> {
    const places = this.#keys.get(key) ?? { taken: 0, waiting: [] };
    this.#keys.set(key, places);
    if (places.taken < this.#most()) places.taken += 1;
    else await new Promise<void>((admit) => places.waiting.push(admit));
    return () => {
      places.taken -= 1;
      while (places.taken < this.#most()) {
        const next = places.waiting.shift();
        if (next === undefined) break;
        places.taken += 1;
        next();
      }
      if (places.taken === 0) this.#keys.delete(key);
    };
  }
}
