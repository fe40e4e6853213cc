import { Fault } from "../lib/fault.ts";

export interface BodyLimits {
  readonly accountBytes: number;
  readonly nodeBytes: number;
}

/** Smaller bodies are not counted: the connections that can carry them are few enough. */
export const UNCOUNTED_BYTES = 16 * 1024;
const RETRY_AFTER_SECONDS = 1;

/**
 * How many bytes of request bodies are in memory, for each account and on this node: from the moment they may arrive
 * until the request is answered.
 */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #accounts = new Map<string, number>();
  #total = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  claim(owner: string, bytes: number): void {
    const taken = this.#accounts.get(owner) ?? 0;
    if (taken + bytes > this.#limits.accountBytes) {
      throw new Fault("rate-limited", "Too many large bodies of this account at once. Wait for the others to end.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    if (this.#total + bytes > this.#limits.nodeBytes) {
      throw new Fault("unavailable", "Too many large bodies at once. Try again shortly.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    this.#accounts.set(owner, taken + bytes);
    this.#total += bytes;
  }

  release(owner: string, bytes: number): void {
    const rest = (this.#accounts.get(owner) ?? 0) - bytes;
    if (rest > 0) this.#accounts.set(owner, rest);
    else this.#accounts.delete(owner);
    this.#total -= bytes;
  }
}
