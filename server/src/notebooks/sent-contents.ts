import { setImmediate } from "node:timers/promises";
import { Fault } from "../lib/fault.ts";

/**
 * The contents that are being sent. A content is read as a whole, up to tens of megabytes, and stays in memory until the
 * client has taken it, so their total is limited: for each account, and on this node.
 */
export interface WithSentContents {
  sentContents: SentContents;
}

const MEBIBYTE = 1024 * 1024;
const ACCOUNT_BYTES = 64 * MEBIBYTE;
const NODE_BYTES = 256 * MEBIBYTE;
/** Smaller ones are not counted: the number of connections limits them. */
const UNCOUNTED_BYTES = 64 * 1024;

export class SentContents {
  readonly #accounts = new Map<number, number>();
  #total = 0;

  /** Throws unless there is room. A single content always has room. `release` must be called; more than once is safe. */
  take(accountId: number, bytes: number): { release: () => void } {
    if (bytes < UNCOUNTED_BYTES) return { release: () => undefined };
    const used = this.#accounts.get(accountId) ?? 0;
    const isTooMuch = (before: number, limit: number): boolean => before > 0 && before + bytes > limit;
    if (isTooMuch(used, ACCOUNT_BYTES)) {
      throw new Fault("rate-limited", "This account is reading too many large notebooks at once. Try again shortly.", {
        retryAfterSeconds: 1,
      });
    }
    if (isTooMuch(this.#total, NODE_BYTES)) {
      throw new Fault("unavailable", "The server is sending too many large notebooks at once. Try again shortly.", {
        retryAfterSeconds: 1,
      });
    }
    this.#add(accountId, bytes);
    let isOver = false;
    return {
      release: () => {
        if (!isOver) this.#add(accountId, -bytes);
        isOver = true;
      },
    };
  }

  #add(accountId: number, bytes: number): void {
    const used = (this.#accounts.get(accountId) ?? 0) + bytes;
    if (used === 0) this.#accounts.delete(accountId);
    else this.#accounts.set(accountId, used);
    this.#total += bytes;
  }
}

/** Small chunks are sent together, because a notebook has thousands. Large ones are cut: encoding takes time. */
const PIECE_CHARACTERS = 64 * 1024;

/** Sends the chunks without delaying other requests, and releases the room of the content whatever happens. */
export function releasing(chunks: Iterable<string>, release: () => void): AsyncIterableIterator<string> {
  const iterator = chunks[Symbol.iterator]();
  let pending = "";
  const nextPiece = (): string => {
    while (pending.length < PIECE_CHARACTERS) {
      const step = iterator.next();
      if (step.done === true) break;
      pending += step.value;
    }
    const end = isInsidePair(pending, PIECE_CHARACTERS) ? PIECE_CHARACTERS - 1 : PIECE_CHARACTERS;
    const piece = pending.slice(0, end);
    pending = pending.slice(end);
    return piece;
  };
  return {
    async next() {
      try {
        await setImmediate();
        const value = nextPiece();
        if (value !== "") return { done: false, value };
      } catch (error) {
        release();
        throw error;
      }
      release();
      return { done: true, value: undefined };
    },
    async return() {
      release();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Whether a text that is cut there would have half of a character in each part. */
function isInsidePair(text: string, at: number): boolean {
  return at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xff_ff;
}
