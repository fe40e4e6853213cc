import { FairQueue } from "./fair-queue.ts";

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
