import { describe, expect, test } from "vitest";
import { useMemoryS3 } from "../../../test/support/memory-s3.ts";
import { s3Store } from "./s3-store.ts";
import type { S3Store } from "./s3-operations.ts";

/** Listings of stores that differ from Amazon S3. */
const s3 = useMemoryS3();

interface Page {
  readonly keys?: readonly string[];
  readonly prefixes?: readonly string[];
}

/** Lists these pages, one after the other. A listing that begins in the middle is refused. */
async function withPages<T>(pages: readonly Page[], work: (store: S3Store) => Promise<T>): Promise<T> {
  s3.onRequest = ({ query }) => {
    const at = Number(query.get("continuation-token") ?? 0);
    return query.has("start-after") ? 400 : documentOf(pages[at] ?? {}, at + 1 < pages.length ? at + 1 : undefined);
  };
  const store = s3Store({ ...s3.account, checkAddress: () => null });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

function documentOf({ keys = [], prefixes = [] }: Page, next: number | undefined): string {
  const time = "1970-01-01T00:00:00.000Z";
  return [
    "<ListBucketResult>",
    ...keys.map((key) => `<Contents><Key>${key}</Key><LastModified>${time}</LastModified><Size>1</Size></Contents>`),
    ...prefixes.map((prefix) => `<CommonPrefixes><Prefix>${prefix}</Prefix></CommonPrefixes>`),
    `<IsTruncated>${next !== undefined}</IsTruncated>`,
    next === undefined ? "" : `<NextContinuationToken>${next}</NextContinuationToken>`,
    "</ListBucketResult>",
  ].join("");
}

const keysOf = async (store: S3Store): Promise<string[]> =>
  (await Array.fromAsync(store.list("s3://bucket/"))).map(({ key }) => key);

const UNORDERED = [{ keys: ["m", "c"] }, { keys: ["z", "a"] }, { keys: ["k"] }];

describe("a listing", () => {
  test("may have any order, as that of a store that encrypts names", async () => {
    expect(await withPages(UNORDERED, keysOf)).toEqual(["m", "c", "z", "a", "k"]);
  });

  test.each([
    ["at once", [{ keys: ["a", "b"] }, { keys: ["a", "b"] }]],
    ["as the last one", [{ keys: ["a", "b"] }, { keys: ["c"] }, { keys: ["d"] }, { keys: ["c"] }]],
    ["later", [{ keys: ["a"] }, { keys: ["b"] }, { keys: ["c"] }, { keys: ["b"] }, { keys: ["d"] }]],
  ])("fails if a page comes twice, %s", async (_, pages) => {
    await expect(withPages(pages, keysOf)).rejects.toThrow("s3://bucket/: the listing repeats a page");
  });

  test("of a folder has a subfolder once that ends a page and begins the next one", async () => {
    const pages = [{ prefixes: ["a/", "b/"] }, { prefixes: ["b/"] }, { keys: ["c"], prefixes: ["b/", "d/"] }];
    const entries = await withPages(pages, (store) => Array.fromAsync(store.folder("s3://bucket/")));
    expect(entries.map(({ name }) => name)).toEqual(["a", "b", "d", "c"]);
  });

  test.each(["in--usw2-az1--x-s3", "in--usw2-az1--xa-s3"])("in parts needs no order in %s", async (bucket) => {
    const listed = await withPages(UNORDERED, (store) => Array.fromAsync(store.listPages(`s3://${bucket}/`)));
    expect(listed.flat().map(({ key }) => key)).toEqual(["m", "c", "z", "a", "k"]);
  });

  test("in parts fails in other buckets if the keys are not in order, because keys could be missed", async () => {
    const listing = withPages(UNORDERED, (store) => Array.fromAsync(store.listPages("s3://bucket/")));
    await expect(listing).rejects.toThrow(
      "a page repeats keys of an earlier page, or the store does not list keys in order",
    );
  });
});
