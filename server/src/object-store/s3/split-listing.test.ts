import { hash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { ListingError } from "./key-order.ts";
import type { PageEntry } from "./s3-xml.ts";
import { splitListing, type FetchPage } from "./split-listing.ts";

/** Maps a key to a text: the store sorts keys as JavaScript sorts these texts. */
type Order = (key: string) => string;
const byBytes: Order = (key) => Buffer.from(key).toString("latin1");
const byFolders: Order = (key) => byBytes(key).replaceAll("/", "\0");

interface Listing {
  readonly keys: readonly string[];
  readonly requestCount: number;
  /** All requests of a round are sent before one of them is answered. */
  readonly roundCount: number;
}

/** A store in memory. */
function storeOf(keys: readonly string[], order: Order, pageSize: number): FetchPage {
  const sorted = keys.map((key) => ({ key, rank: order(key) })).toSorted((a, b) => (a.rank < b.rank ? -1 : 1));
  const firstAfter = (rank: string): number => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((sorted[middle]?.rank ?? "") > rank) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return ({ after, token, prefix, maxKeys = pageSize }) => {
    const start = token ?? after;
    const rest = sorted.slice(start === undefined ? 0 : firstAfter(order(start)));
    const found = prefix === undefined ? rest : rest.filter(({ key }) => key.startsWith(prefix));
    const page = found.slice(0, maxKeys);
    return Promise.resolve({
      entries: page.map(({ key }): PageEntry => ({ key, size: 1, modifiedMs: 0, etag: null, storageClass: null })),
      prefixes: [],
      nextToken: found.length > page.length ? (page.at(-1)?.key ?? null) : null,
    });
  };
}

/** The requests of a round are answered in an order that depends on the seed. */
async function listAll(fetchPage: FetchPage, prefix: string, concurrency = 8, seed = 0): Promise<Listing> {
  const keys: string[] = [];
  let requestCount = 0;
  let roundCount = 0;
  let waiting: (() => void)[] = [];
  const answerRound = (): void => {
    roundCount += 1;
    const round = waiting;
    waiting = [];
    expect(round.length).toBeLessThanOrEqual(concurrency);
    while (round.length > 0) round.splice(seed % round.length, 1)[0]?.();
  };
  const inRounds: FetchPage = async (request, signal) => {
    requestCount += 1;
    if (requestCount > 5000) throw new Error("the listing does not end");
    if (waiting.length === 0) setImmediate(answerRound);
    await new Promise<void>((resolve) => void waiting.push(resolve));
    return fetchPage(request, signal);
  };
  for await (const page of splitListing(inRounds, { prefix, concurrency })) keys.push(...page.map(({ key }) => key));
  return { keys, requestCount, roundCount };
}

const keyOf = (...characters: string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...characters), { minLength: 1, maxLength: 6 }).map((each) => `p/${each.join("")}`);
const key = fc.oneof(
  keyOf("a", "b", "/", "-", ".", "0", "9", "~", " ", "é", "🎉", "\uFFFD"),
  keyOf("a", "/", "-"), // where the two orders differ most
);

describe("a split listing", () => {
  test.each([
    ["bytes", byBytes],
    ["folders", byFolders],
  ])("has every key of a store ordered by %s exactly once", async (_, order) => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(key, { maxLength: 200 }),
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(),
        async (keys, pageSize, concurrency, seed) => {
          const listed = await listAll(storeOf(keys, order, pageSize), "p/", concurrency, seed);
          expect(listed.keys.toSorted()).toEqual(keys.toSorted());
        },
      ),
      { numRuns: isExhaustive ? 300 : 100 },
    );
  });

  test.each([
    ["numbered files", (index: number) => `p/part-${String(index).padStart(6, "0")}-c000.parquet`],
    ["days", (index: number) => `p/${new Date(index * 36e5).toISOString().slice(0, 13).replaceAll("-", "/")}/data.gz`],
    ["hashes", (index: number) => `p/${((index * 2_654_435_761) >>> 0).toString(16).padStart(8, "0")}`],
    ["random names below a long path", (index: number) => `p/t=1/part-00000-${hash("md5", String(index))}.parquet`],
    ["one large folder among small ones", (index: number) => `p/${index < 90 ? `a${index}/x` : `m/${index + 1e6}`}`],
  ])("of %s reads several pages at the same time and wastes few requests", async (_, keyOf) => {
    const keys = Array.from({ length: 20_000 }, (__, index) => keyOf(index));
    const listed = await listAll(storeOf(keys, byBytes, 100), "p/");
    expect(new Set(listed.keys).size).toBe(20_000);
    expect(listed.keys).toHaveLength(20_000);
    expect(listed.roundCount).toBeLessThan(200 / 3);
    expect(listed.requestCount).toBeLessThan(1.4 * 200);
  });

  test("of a single page needs one request", async () => {
    const listed = await listAll(storeOf(["p/a", "p/b"], byBytes, 1000), "p/");
    expect(listed).toMatchObject({ keys: ["p/a", "p/b"], requestCount: 1 });
  });

  test("lists every other key once if keys at which it was split are deleted meanwhile", async () => {
    const keys = Array.from({ length: 5000 }, (_, index) => `p/${String(index).padStart(5, "0")}`);
    const deleted = new Set<string>();
    const fetchPage: FetchPage = async (request, signal) => {
      const left = keys.filter((each) => !deleted.has(each));
      const page = await storeOf(left, byBytes, 100)(request, signal);
      const first = page.entries[0]?.key;
      if (request.after !== undefined && first !== undefined) deleted.add(first);
      return page;
    };
    const listed = await listAll(fetchPage, "p/");
    expect(deleted.size).toBeGreaterThan(2);
    expect(new Set(listed.keys).size).toBe(listed.keys.length);
    expect(keys.filter((each) => !deleted.has(each) && !listed.keys.includes(each))).toEqual([]);
  });

  test.each([
    ["bytes", byBytes],
    ["folders", byFolders],
  ])(
    "of a store ordered by %s has every key once that stays, whatever is added or removed meanwhile",
    async (_, order) => {
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(key, { minLength: 1, maxLength: 100 }),
          fc.array(key, { maxLength: 40 }),
          fc.integer({ min: 1, max: 5 }),
          fc.nat(),
          async (stable, changing, pageSize, seed) => {
            const staying = new Set(stable);
            const present = new Set(stable);
            let requests = seed;
            const fetchPage: FetchPage = (request, signal) => {
              const page = storeOf([...present], order, pageSize)(request, signal);
              // Each request is followed by a change: a key appears, or disappears again.
              const changed = changing[requests++ % Math.max(1, changing.length)];
              if (changed !== undefined && !staying.has(changed) && !present.delete(changed)) present.add(changed);
              return page;
            };
            const listed = await listAll(fetchPage, "p/", 1 + (seed % 8), seed).catch(unlessTooFast);
            fc.pre(listed !== undefined);
            const { keys } = listed;
            expect(keys.filter((each) => staying.has(each)).toSorted()).toEqual(stable.toSorted());
            expect(new Set(keys).size).toBe(keys.length);
          },
        ),
        { numRuns: isExhaustive ? 300 : 100 },
      );
    },
  );

  test("reports the failure of a page, and continues without a probe that the store refuses", async () => {
    const keys = Array.from({ length: 500 }, (_, index) => `p/${index}`);
    const store = storeOf(keys, byBytes, 10);
    const withoutStart: FetchPage = (request, signal) =>
      request.after === undefined ? store(request, signal) : Promise.reject(new Error("no start-after"));
    expect((await listAll(withoutStart, "p/")).keys.toSorted()).toEqual(keys.toSorted());
    let pages = 0;
    const broken: FetchPage = async (request, signal) => {
      if (request.after === undefined && ++pages > 3) throw new Error("broken page");
      return store(request, signal);
    };
    await expect(listAll(broken, "p/")).rejects.toThrow("broken page");
  });

  test("stops all requests when its reader stops", async () => {
    const store = storeOf(
      Array.from({ length: 1000 }, (_, index) => `p/${index}`),
      byBytes,
      10,
    );
    const signals: AbortSignal[] = [];
    const watched: FetchPage = (request, signal) => {
      signals.push(signal);
      return store(request, signal);
    };
    for await (const page of splitListing(watched, { prefix: "p/", concurrency: 4 })) if (page.length > 0) break;
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });
});

/** The store is asked for its order by two keys, and both are gone. */
function unlessTooFast(error: unknown): undefined {
  if (!(error instanceof ListingError && error.message === "the keys change too fast to be listed")) throw error;
}

const entry = (name: string): PageEntry => ({ key: name, size: 1, modifiedMs: 0, etag: null, storageClass: null });

test.each([
  ["comes twice", ["p/a", "p/b"], ["p/a", "p/b"]],
  ["begins with the last key of the previous one", ["p/a", "p/b"], ["p/b", "p/c"]],
  ["goes back at its end", ["p/b", "p/c"], ["p/d", "p/a"]],
])("a listing fails if a page %s", async (_, first, second) => {
  const fetchPage: FetchPage = ({ token }) => {
    const names = token === undefined ? first : second;
    return Promise.resolve({ entries: names.map(entry), prefixes: [], nextToken: token === undefined ? "t" : null });
  };
  await expect(listAll(fetchPage, "p/", 1)).rejects.toThrow("a page repeats keys of an earlier page");
});

test("a listing that comes back to an earlier page fails", async () => {
  const fetchPage: FetchPage = ({ token }) => {
    const [name, nextToken] = token === "A" ? ["p/b", "B"] : ["p/a", "A"];
    return Promise.resolve({ entries: [entry(name)], prefixes: [], nextToken });
  };
  await expect(listAll(fetchPage, "p/")).rejects.toThrow(/^(the listing repeats a page|a page repeats keys)/);
});
