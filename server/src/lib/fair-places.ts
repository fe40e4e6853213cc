import { FairQueue } from "./fair-queue.ts";

/** A fixed number of places. Callers wait for a free one; keys are served in turn. */
export class FairPlaces<Key> {
  readonly #queue: FairQueue<(leave: () => void) => void, Key>;
  #free: number;
  #waiting = 0;

  /** `most`: how many places a key may have at a time. */
  constructor(all: number, most: (key: Key) => number) {
    this.#queue = new FairQueue({ waiting: Infinity, taken: most });
    this.#free = all;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves to a function that frees the place. */
  enter(key: Key): Promise<() => void> {
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
