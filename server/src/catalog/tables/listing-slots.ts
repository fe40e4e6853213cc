import { Fault } from "../../lib/fault.ts";

export interface ListingLimits {
  readonly running: number;
  readonly waiting: number;
}

/** A listing holds all names in memory and reads ahead of its client, so an account may run only a few. */
const LIMITS: ListingLimits = { running: 2, waiting: 8 };
const RETRY_AFTER_SECONDS = 5;

interface AccountListings {
  running: number;
  readonly waiting: Set<() => void>;
}

/** Limits concurrent listings: each holds a slot until its request ends, and others of the account wait in line. */
export class ListingSlots {
  readonly #limits: ListingLimits;
  readonly #accounts = new Map<number, AccountListings>();

  constructor(limits: ListingLimits = LIMITS) {
    this.#limits = limits;
  }

  /** The signal releases the slot, so it must be aborted when the request ends, however it ends. */
  async take(accountId: number, ended: AbortSignal): Promise<void> {
    if (ended.aborted) throw serverStopping();
    const account = this.#accounts.get(accountId) ?? { running: 0, waiting: new Set() };
    this.#accounts.set(accountId, account);
    if (account.running < this.#limits.running) account.running += 1;
    else await this.#wait(account, ended);
    ended.addEventListener("abort", () => this.#free(accountId, account), { once: true });
  }

  #wait({ waiting }: AccountListings, ended: AbortSignal): Promise<void> {
    if (waiting.size >= this.#limits.waiting) {
      throw new Fault("rate-limited", "Too many table listings of this account are running. Try again shortly.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        waiting.delete(begin);
        reject(serverStopping());
      };
      const begin = (): void => {
        ended.removeEventListener("abort", giveUp);
        resolve();
      };
      waiting.add(begin);
      ended.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Passes the slot to the next waiting listing, if any. */
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

/** For requests that end early. The other reason is a client that disconnected, which does not read it. */
export function serverStopping(): Fault {
  return new Fault("unavailable", "The server is about to stop. Try again.");
}
