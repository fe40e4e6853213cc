import { FairQueue } from "./fair-queue.ts";

interface PlacesByKey {
  readonly all: number;
  /** The most that one key has at a time. */
  readonly each: number;
}

/** A fixed number of places. Whoever wants one waits; the keys get them by turns. */
export class FairPlaces {
  readonly #queue: FairQueue<(leave: () => void) => void>;
  #free: number;
  #waiting = 0;

  constructor({ all, each }: PlacesByKey) {
    this.#queue = new FairQueue({ waiting: Infinity, taken: each });
    this.#free = all;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Settles with what gives the place back. */
  enter(key: string): Promise<() => void> {
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
