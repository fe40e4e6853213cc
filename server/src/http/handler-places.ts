import { availableParallelism } from "node:os";
import { KeyedPlaces } from "../lib/keyed-places.ts";
import { SoleUse } from "../lib/sole-use.ts";

/** Enough to keep the cores of this machine busy. */
const PLACES_FOR_EACH = Math.min(8, Math.max(2, availableParallelism()));
/** For a user alone. Handling more requests at the same time takes less CPU time for each of them. */
const PLACES_OF_SOLE_USER = 8;
/** A request that is not answered by then seems to wait for something else, such as a metastore. */
const SHORT_MS = 100;
/**
 * Limits how many long requests give up their place: on an overloaded machine every request takes long. Those of one
 * user, the places included, must never hold all connections to the database.
 */
const LONG_FOR_EACH = 6;

/**
 * Limits how many requests of one user, and of one account, are handled at a time. The others wait after their body has
 * been read; otherwise a client that sends many requests at once would slow down all other clients. A request that
 * takes long, or waits for an event, releases its place to the next one. A user alone has more places.
 */
export class HandlerPlaces {
  readonly #places: KeyedPlaces<string>;
  readonly #users = new SoleUse<string>();
  readonly #long = new Map<string, number>();

  constructor(forEach = PLACES_FOR_EACH, forSoleUser = PLACES_OF_SOLE_USER) {
    this.#places = new KeyedPlaces(() => (this.#users.isSole ? forSoleUser : forEach));
  }

  /** Resolves to a function that frees the places of the request. The user is the first of its owners. */
  async enter(owners: readonly string[]): Promise<() => void> {
    const [user] = owners;
    if (user !== undefined) this.#users.note(user);
    const places: (() => void)[] = [];
    // Always in this order: a request that waits for a place of its account delays only requests of the same user.
    for (const owner of owners) places.push(await this.#places.enter(owner));
    let isLong = false;
    const free = (): void => {
      clearInterval(timer);
      for (const leave of places.splice(0)) leave();
    };
    const timer = setInterval(() => {
      if (owners.some((owner) => (this.#long.get(owner) ?? 0) >= LONG_FOR_EACH)) return;
      isLong = true;
      this.#countLong(owners, 1);
      free();
    }, SHORT_MS);
    return () => {
      free();
      if (isLong) this.#countLong(owners, -1);
      isLong = false;
    };
  }

  #countLong(owners: readonly string[], change: 1 | -1): void {
    for (const owner of owners) {
      const count = (this.#long.get(owner) ?? 0) + change;
      if (count === 0) this.#long.delete(owner);
      else this.#long.set(owner, count);
    }
  }
}
