/** The memory for the parts of uploads to S3, shared so that an account cannot take all of it. */
import { Fault } from "../lib/fault.ts";

const MIB = 1024 * 1024;
const RETRY_AFTER_SECONDS = 30;

interface Limits {
  readonly accountBytes: number;
  readonly nodeBytes: number;
}

/** Enough for a dozen uploads of an account and for five such accounts. */
const DEFAULT_LIMITS: Limits = { accountBytes: 192 * MIB, nodeBytes: 1024 * MIB };

export class UploadMemory {
  readonly #limits: Limits;
  readonly #accounts = new Map<number, number>();
  #taken = 0;

  constructor(limits: Limits = DEFAULT_LIMITS) {
    this.#limits = limits;
  }

  /** Returns an idempotent function that releases the memory. Throws the refusal if there is too little. */
  take(accountId: number, bytes: number): () => void {
    const { accountBytes, nodeBytes } = this.#limits;
    const details = { retryAfterSeconds: RETRY_AFTER_SECONDS };
    const ofAccount = this.#accounts.get(accountId) ?? 0;
    if (ofAccount + bytes > accountBytes) {
      throw new Fault("rate-limited", "Your account has too many uploads to S3. Finish one, then try again.", details);
    }
    if (this.#taken + bytes > nodeBytes) {
      throw new Fault("unavailable", "The server has too many uploads to S3. Try again later.", details);
    }
    this.#add(accountId, bytes);
    let isReleased = false;
    return () => {
      if (!isReleased) this.#add(accountId, -bytes);
      isReleased = true;
    };
  }

  #add(accountId: number, change: number): void {
    const bytes = (this.#accounts.get(accountId) ?? 0) + change;
    if (bytes === 0) this.#accounts.delete(accountId);
    else this.#accounts.set(accountId, bytes);
    this.#taken += change;
  }
}
