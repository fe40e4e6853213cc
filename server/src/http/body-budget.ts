import { Fault } from "../lib/fault.ts";

export interface BodyLimits {
  readonly accountBytes: number;
  readonly nodeBytes: number;
}

/** Smaller bodies are not counted: HEADGATE_CONNECTIONS bounds their number. */
const UNCOUNTED_BYTES = 16 * 1024;
/**
 * Reserved for each account, so that large bodies of other accounts never cause an ordinary submission to be refused.
 */
const OWN_BYTES = 2 * 1024 * 1024;
const RETRY_AFTER_SECONDS = 1;

/** The memory that one body takes. It only grows until it is released. */
export interface BodyClaim {
  /** Throws if a total of this many bytes would exceed a limit now. Reserves nothing. */
  check(bytes: number): void;
  /** Reserves this many bytes in total, or throws. */
  growTo(bytes: number): void;
  /** Idempotent. The claim can reserve nothing afterwards. */
  release(): void;
}

/**
 * Counts the bytes of request bodies in memory, per account and on this node, from their arrival until the request is
 * answered. The first 2 MiB of each account do not count towards the limit of the node.
 */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #accounts = new Map<string, number>();
  #shared = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** `onTaken` is called when the claim reserves its first bytes. Small bodies reserve none. */
  open(owner: string, onTaken: () => void = () => undefined): BodyClaim {
    let taken = 0;
    let isOver = false;
    const check = (bytes: number): void => {
      if (bytes > UNCOUNTED_BYTES && bytes > taken) this.#check(owner, bytes - taken);
    };
    return {
      check,
      growTo: (bytes) => {
        check(bytes);
        if (isOver || bytes <= UNCOUNTED_BYTES || bytes <= taken) return;
        this.#add(owner, bytes - taken);
        const isFirst = taken === 0;
        taken = bytes;
        if (isFirst) onTaken();
      },
      release: () => {
        if (taken > 0) this.#add(owner, -taken);
        taken = 0;
        isOver = true;
      },
    };
  }

  #check(owner: string, bytes: number): void {
    const before = this.#accounts.get(owner) ?? 0;
    const after = before + bytes;
    if (after > this.#limits.accountBytes) {
      throw new Fault(
        "rate-limited",
        "This account is sending too many large bodies at once. Wait until the other requests are answered.",
        {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        },
      );
    }
    const shared = sharedPart(after) - sharedPart(before);
    if (shared > 0 && this.#shared + shared > this.#limits.nodeBytes) {
      throw new Fault("unavailable", "The server is receiving too many large bodies at once. Try again shortly.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
  }

  #add(owner: string, bytes: number): void {
    const before = this.#accounts.get(owner) ?? 0;
    const after = before + bytes;
    this.#shared += sharedPart(after) - sharedPart(before);
    if (after > 0) this.#accounts.set(owner, after);
    else this.#accounts.delete(owner);
  }
}

function sharedPart(bytes: number): number {
  return Math.max(0, bytes - OWN_BYTES);
}
