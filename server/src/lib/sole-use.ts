/** Others count as present for this long after their last use. */
const PRESENT_MS = 10_000;

/** Tells whether only one key uses something: limits that protect keys from each other need not bind then. */
export class SoleUse<Key> {
  #last: Key | undefined;
  #sharedUntil = -Infinity;

  note(key: Key): void {
    if (this.#last !== undefined && this.#last !== key) this.#sharedUntil = performance.now() + PRESENT_MS;
    this.#last = key;
  }

  get isSole(): boolean {
    return performance.now() >= this.#sharedUntil;
  }
}
