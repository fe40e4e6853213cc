/** The resource counts as shared for this long after two different keys have used it one after the other. */
const SHARED_MS = 10_000;

/** Reports whether only one key uses a resource: limits that protect keys from each other need not apply then. */
export class SoleUse<Key> {
  #last: Key | undefined;
  #sharedUntil = -Infinity;

  note(key: Key): void {
    if (this.#last !== undefined && this.#last !== key) this.#sharedUntil = performance.now() + SHARED_MS;
    this.#last = key;
  }

  get isSole(): boolean {
    // Reading the clock takes longer than all the rest, so it is read only for a while after two keys were seen.
    if (this.#sharedUntil === -Infinity) return true;
    if (performance.now() < this.#sharedUntil) return false;
    this.#sharedUntil = -Infinity;
    return true;
  }
}
