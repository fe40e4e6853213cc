/**
 * Lists a key space by several requests at the same time. Each page names the next one, so one listing is sequential. But
 * a listing can begin after any text, so the space is split into ranges: a probe starts somewhere in a range; if it finds
 * keys, its first key becomes the end of the range and the beginning of a new one.
 *
 * Every key is listed exactly once, in both known orders (`key-order.ts`): a range ends where it meets the first key of the
 * next range, because a probe returns the rest of the sequence that the range itself would list. That key may be deleted
 * meanwhile, and even be there again. So a range also ends at the first key that comes after it. Where that depends on the
 * order, the store is asked.
 */
import { byBytes, byFolders, checkFollows, isAfter, isAmbiguous, ListingError, type KeyOrder } from "./key-order.ts";
import { RepeatedPages } from "./repeated-pages.ts";
import type { ListPage, PageEntry } from "./s3-xml.ts";
import { commonLength, splitPoint } from "./split-point.ts";

export interface PageRequest {
  readonly after?: string | undefined;
  readonly token?: string | undefined;
  /** Instead of the prefix of the listing. */
  readonly prefix?: string | undefined;
  readonly maxKeys?: number | undefined;
}

export type FetchPage = (request: PageRequest, signal: AbortSignal) => Promise<ListPage>;

export interface SplitOptions {
  readonly prefix: string;
  readonly concurrency: number;
  /** False: the store has no order. Then `concurrency` must be 1. */
  readonly isOrdered?: boolean;
  readonly signal?: AbortSignal | undefined;
}

interface Range {
  token: string | undefined;
  readonly pages: RepeatedPages;
  last: string;
  /** The first key of the next range. */
  nextFirst: string | null;
  /** No key of this range comes after it. */
  high: string | null;
  /** See `splitPoint`. */
  position: number;
  /** The first position in which the keys of the last page differ: raised there, a key skips hardly more than a page. */
  pagePosition: number;
  pageCount: number;
  /** Consecutive probes that found nothing, and the page from which on the next one is worth its request. */
  failedProbes: number;
  nextProbe: number;
  isFetching: boolean;
  isProbed: boolean;
}

/** Probes that may find nothing whatever the number of pages; beyond that, one for every four pages. */
const freeProbes = 16;
/** Halving finds the position in which keys differ within this many probes. */
const steadyProbes = 6;

export async function* splitListing(fetchPage: FetchPage, options: SplitOptions): AsyncGenerator<readonly PageEntry[]> {
  const listing = new SplitListing(fetchPage, options);
  try {
    for (;;) {
      const page = listing.take();
      if (page !== undefined) yield page;
      else if (listing.isDone) return;
      else await listing.changed();
    }
  } finally {
    listing.stop();
  }
}

class SplitListing {
  readonly #fetchPage: FetchPage;
  readonly #options: SplitOptions;
  readonly #stopped = new AbortController();
  readonly #signal: AbortSignal;
  /** Ranges that are not listed completely. */
  readonly #ranges = new Set<Range>();
  readonly #ready: (readonly PageEntry[])[] = [];
  #requests = 0;
  #pageCount = 0;
  #emptyProbes = 0;
  #canSplit = true;
  /** Undefined: not known yet, and hardly ever needed. */
  #order: KeyOrder | undefined;
  #failure: { readonly error: unknown } | undefined;
  #change = Promise.withResolvers<void>();

  constructor(fetchPage: FetchPage, options: SplitOptions) {
    this.#fetchPage = fetchPage;
    this.#options = options;
    this.#signal =
      options.signal === undefined ? this.#stopped.signal : AbortSignal.any([options.signal, this.#stopped.signal]);
    this.#ranges.add(newRange(null, null, Infinity));
    this.#fill();
  }

  get isDone(): boolean {
    return this.#ranges.size === 0 && this.#failure === undefined;
  }

  take(): readonly PageEntry[] | undefined {
    const page = this.#ready.shift();
    this.#fill();
    return page;
  }

  async changed(): Promise<void> {
    if (this.#failure === undefined) await this.#change.promise;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Starts requests, unless the consumer has enough to do. Pages that wait for it count, because they take memory too. */
  #fill(): void {
    const { concurrency } = this.#options;
    while (this.#requests + this.#ready.length < concurrency && this.#failure === undefined) {
      const range = [...this.#ranges].find(({ isFetching }) => !isFetching);
      if (range !== undefined) void this.#run(() => this.#continue(range));
      else if (!this.#startProbe()) return;
    }
  }

  async #run(request: () => Promise<void>): Promise<void> {
    this.#requests += 1;
    try {
      await request();
    } catch (error) {
      this.#failure ??= { error };
      this.stop();
    } finally {
      this.#requests -= 1;
      this.#fill();
      this.#change.resolve();
      this.#change = Promise.withResolvers();
    }
  }

  async #continue(range: Range): Promise<void> {
    range.isFetching = true;
    const { token, pages } = range;
    const page = await this.#fetchPage({ token }, this.#signal);
    const { nextToken, entries } = page;
    if (nextToken !== null && pages.isRepeated({ token: nextToken, lastKey: entries.at(-1)?.key })) {
      throw new ListingError("the listing repeats a page");
    }
    if (this.#options.isOrdered !== false) checkFollows(entries, range.last);
    await this.#accept(range, page);
    range.isFetching = false;
  }

  /** Emits the part of the page that belongs to the range. */
  async #accept(range: Range, { entries, nextToken }: ListPage): Promise<void> {
    const { nextFirst } = range;
    range.last = entries.at(-1)?.key ?? range.last; // at once: a probe must not end the range inside this page
    range.pagePosition = commonLength(entries[0]?.key ?? "", range.last);
    const own = nextFirst === null ? entries : await this.#before(nextFirst, entries);
    if (own.length > 0) this.#ready.push(own);
    range.token = nextToken ?? undefined;
    range.pageCount += 1;
    this.#pageCount += 1;
    if (own.length < entries.length || nextToken === null) this.#ranges.delete(range);
  }

  /** The entries that come before the first key of the next range. That key may be gone. */
  async #before(nextFirst: string, entries: readonly PageEntry[]): Promise<readonly PageEntry[]> {
    const last = entries.at(-1)?.key ?? "";
    if (isAfter(nextFirst, last)) return entries;
    const found = entries.findIndex(({ key }) => key === nextFirst);
    if (found !== -1) return entries.slice(0, found);
    const ambiguous = entries.find(({ key }) => isAmbiguous(key, nextFirst))?.key;
    const order = ambiguous === undefined ? byBytes : (this.#order ??= await this.#askOrder(ambiguous, nextFirst));
    return entries.filter(({ key }) => order(key, nextFirst) < 0);
  }

  /** Asks which of two keys the store lists after the other. Both may be deleted meanwhile. */
  async #askOrder(one: string, other: string): Promise<KeyOrder> {
    for (const [key, after] of [
      [one, other],
      [other, one],
    ] as const) {
      const { entries } = await this.#fetchPage({ prefix: key, after, maxKeys: 1 }, this.#signal);
      if (entries[0]?.key === key) return byBytes(key, after) > 0 ? byBytes : byFolders;
    }
    throw new ListingError("the keys change too fast to be listed");
  }

  #startProbe(): boolean {
    if (!this.#canSplit || this.#emptyProbes > freeProbes + this.#pageCount / 4) return false;
    const candidates = [...this.#ranges].filter((range) => range.pageCount >= range.nextProbe && !range.isProbed);
    for (const range of candidates.toSorted((one, other) => other.pageCount - one.pageCount)) {
      const { last: low, high } = range;
      const position = Math.min(range.position, range.pagePosition - 1);
      const point = splitPoint({ low, high, prefixLength: this.#options.prefix.length, position });
      range.isProbed = point !== null;
      if (point === null) continue;
      void this.#run(() => this.#probe(range, point.after, point.position));
      return true;
    }
    return false;
  }

  async #probe(range: Range, after: string, position: number): Promise<void> {
    // If the store cannot begin in the middle, the existing ranges list everything.
    const page = await this.#fetchPage({ after }, this.#signal).catch(() => null);
    range.isProbed = false;
    const first = page?.entries[0]?.key;
    if (page === null) this.#canSplit = false;
    else if (first === undefined || first === range.nextFirst) {
      this.#failed(range);
      range.high = after;
    } else if (this.#ranges.has(range) && isAfter(first, range.last) && isBeforeNext(first, range.nextFirst)) {
      const next = newRange(range.nextFirst, range.high, position);
      next.last = first;
      next.isFetching = true;
      this.#ranges.add(next);
      range.nextFirst = first;
      range.high = after;
      range.position = Infinity;
      range.failedProbes = 0;
      await this.#accept(next, page);
      next.isFetching = false;
    } else {
      this.#failed(range);
      range.position = position - 1; // the step was too small: the range has passed it meanwhile
    }
  }

  /** The rest of the range may be small, so probes that find nothing become rarer. */
  #failed(range: Range): void {
    this.#emptyProbes += 1;
    range.failedProbes += 1;
    if (range.failedProbes > steadyProbes) range.nextProbe = range.pageCount + 2 ** (range.failedProbes - steadyProbes);
  }
}

function newRange(nextFirst: string | null, high: string | null, position: number): Range {
  return {
    token: undefined,
    pages: new RepeatedPages(),
    last: "",
    nextFirst,
    high,
    position,
    pagePosition: 0,
    pageCount: 0,
    failedProbes: 0,
    nextProbe: 1,
    isFetching: false,
    isProbed: false,
  };
}

function isBeforeNext(key: string, nextFirst: string | null): boolean {
  return nextFirst === null || isAfter(nextFirst, key);
}
