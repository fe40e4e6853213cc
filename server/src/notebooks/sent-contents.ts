/**
 * Limits the memory of contents that are being sent. The content of a notebook or dashboard can have tens of megabytes,
 * is read as a whole and stays in memory until the client has received it. There is a limit for each account and one
 * for this node.
 */
import { setImmediate } from "node:timers/promises";
import { Fault } from "../lib/fault.ts";

export interface WithSentContents {
  sentContents: SentContents;
}

const MEBIBYTE = 1024 * 1024;
const ACCOUNT_BYTES = 64 * MEBIBYTE;
const NODE_BYTES = 256 * MEBIBYTE;
/** Smaller contents are not counted: the limit of connections is enough for them. */
const UNCOUNTED_BYTES = 64 * 1024;

export class SentContents {
  readonly #accounts = new Map<number, number>();
  #total = 0;

  /**
   * Throws if the account or the node already sends too much. A limit never refuses the only content that counts for
   * it, whatever its size. The caller must call `release`; calling it again has no effect.
   */
  reserve(accountId: number, bytes: number): { release: () => void } {
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
    let isReleased = false;
    return {
      release: () => {
        if (!isReleased) this.#add(accountId, -bytes);
        isReleased = true;
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

/** Small chunks, of which a notebook has thousands, are joined. Large ones are cut, because encoding them blocks. */
const PIECE_CHARACTERS = 64 * 1024;

/** Sends the chunks in pieces, between which other requests run. Calls `release` at the end, also after failures. */
export function sendInPieces(chunks: Iterable<string>, release: () => void): AsyncIterableIterator<string> {
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

/** Whether a cut at this position would separate the two halves of a surrogate pair. */
function isInsidePair(text: string, at: number): boolean {
  return at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xff_ff;
}
