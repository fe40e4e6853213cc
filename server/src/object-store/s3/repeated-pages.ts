import { hash } from "node:crypto";

/** The position in a listing that a page leads to. */
export interface ListingPosition {
  /** Names the next page. */
  readonly token: string;
  /** The last key of the page. */
  readonly lastKey: string | undefined;
}

/**
 * Recognizes a listing that comes back to a page, whatever the order of its keys and however many pages lie between: it
 * remembers one page, and replaces it after 1, 2, 4, 8 … pages. So a cycle is noticed after a few rounds, and a listing of
 * any length takes no memory.
 */
export class RepeatedPages {
  #remembered: ListingPosition | undefined;
  #pages = 0;
  #limit = 1;

  isRepeated(position: ListingPosition): boolean {
    const { token, lastKey } = this.#remembered ?? {};
    if (position.token === token || (lastKey !== undefined && position.lastKey === lastKey)) return true;
    this.#pages += 1;
    if (this.#pages < this.#limit) return false;
    this.#remembered = position;
    this.#pages = 0;
    this.#limit *= 2;
    return false;
  }
}

const RECENT_PAGES = 10_000;

/** Recognizes a page that has come before, among the last 10,000, by its first and last names. */
export class RecentPages {
  readonly #marks = new Set<string>();

  isRepeated(entries: readonly { readonly key: string }[], prefixes: readonly string[]): boolean {
    const names = [entries[0]?.key, entries.at(-1)?.key, prefixes[0], prefixes.at(-1)];
    if (names.every((name) => name === undefined)) return false;
    const mark = hash("md5", JSON.stringify(names), "base64");
    if (this.#marks.has(mark)) return true;
    const [oldest = ""] = this.#marks;
    if (this.#marks.size === RECENT_PAGES) this.#marks.delete(oldest);
    this.#marks.add(mark);
    return false;
  }
}
