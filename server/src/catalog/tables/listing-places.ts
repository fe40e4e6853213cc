import { Fault } from "../../lib/fault.ts";

export interface ListingLimits {
  readonly running: number;
  readonly waiting: number;
}

/** Each holds names, and what is read ahead of its client, so that few of them are all the memory an account may have. */
const LIMITS: ListingLimits = { running: 2, waiting: 8 };
const RETRY_AFTER_SECONDS = 5;

interface AccountListings {
  running: number;
  readonly waiting: Set<() => void>;
}

/** Who lists tables has a place until its request has ended; the others of the account wait for one in their order. */
export class ListingPlaces {
  readonly #limits: ListingLimits;
  readonly #accounts = new Map<number, AccountListings>();

  constructor(limits: ListingLimits = LIMITS) {
    this.#limits = limits;
  }

  /** The signal has to be given in the end, whatever becomes of the request: it frees the place. */
  async take(accountId: number, ended: AbortSignal): Promise<void> {
    if (ended.aborted) throw stopping();
    const account = this.#accounts.get(accountId) ?? { running: 0, waiting: new Set() };
    this.#accounts.set(accountId, account);
    if (account.running < this.#limits.running) account.running += 1;
    else await this.#wait(account, ended);
    ended.addEventListener("abort", () => this.#free(accountId, account), { once: true });
  }

  #wait({ waiting }: AccountListings, ended: AbortSignal): Promise<void> {
    if (waiting.size >= this.#limits.waiting) {
      throw new Fault("rate-limited", "Too many listings of tables at once; wait for the others to end.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        waiting.delete(begin);
        reject(stopping());
      };
      const begin = (): void => {
        ended.removeEventListener("abort", giveUp);
        resolve();
      };
      waiting.add(begin);
      ended.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** The place goes to the next one, or is free. */
  #free(accountId: number, account: AccountListings): void {
    const [next] = account.waiting;
    if (next === undefined) {
      account.running -= 1;
      if (account.running === 0) this.#accounts.delete(accountId);
      return;
    }
    account.waiting.delete(next);
    next();
  }
}

/** A client that has gone does not read it. */
export function stopping(): Fault {
  return new Fault("unavailable", "The server is about to stop. Try again.");
}
