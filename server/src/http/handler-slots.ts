import { availableParallelism } from "node:os";
import { KeyedSemaphore } from "../lib/limit-concurrency.ts";
import { SoleUse } from "../lib/sole-use.ts";

/** Enough to keep the cores of this machine busy. */
const SLOTS_PER_OWNER = Math.min(8, Math.max(2, availableParallelism()));
/** While only one user is active. Handling more requests at the same time takes less CPU time for each of them. */
const SLOTS_OF_SOLE_USER = 16;
/** A request that takes longer probably waits for something else, such as a metastore. */
const SHORT_MS = 100;
/**
 * At most this many long requests release their slots, because on an overloaded machine every request takes long. It
 * does not limit connections to the database: `KEPT_FOR_SYSTEM` in `db/fair-connections.ts` does.
 */
const MAX_LONG_PER_OWNER = 6;

/**
 * Limits how many requests of one user, and of one account, are handled at a time. The others wait after their body has
 * been read; otherwise a client that sends many requests at once would slow down all other clients. A request that
 * takes long, or waits for an event, releases its slot to the next one. While only one user is active, that user has
 * more slots.
 */
export class HandlerSlots {
  readonly #slots: KeyedSemaphore<string>;
  readonly #users = new SoleUse<string>();
  readonly #long = new Map<string, number>();

  constructor(perOwner = SLOTS_PER_OWNER, forSoleUser = SLOTS_OF_SOLE_USER) {
    this.#slots = new KeyedSemaphore(() => (this.#users.isSole ? forSoleUser : perOwner));
  }

  /** Resolves to a function that releases the slots of the request. The user is the first of its owners. */
  async acquire(owners: readonly string[]): Promise<() => void> {
    const [user] = owners;
    if (user !== undefined) this.#users.note(user);
    const slots: (() => void)[] = [];
    // Always in this order: a request that waits for a slot of its account delays only requests of the same user.
    for (const owner of owners) slots.push(await this.#slots.acquire(owner));
    let isLong = false;
    const release = (): void => {
      clearInterval(timer);
      for (const releaseSlot of slots.splice(0)) releaseSlot();
    };
    const timer = setInterval(() => {
      if (owners.some((owner) => (this.#long.get(owner) ?? 0) >= MAX_LONG_PER_OWNER)) return;
      isLong = true;
      this.#countLong(owners, 1);
      release();
    }, SHORT_MS);
    return () => {
      release();
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
