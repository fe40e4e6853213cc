import { expect, test } from "vitest";
import { MAX_PAGE_ENTRIES, pageOfTree, TOO_MANY_ENTRIES, type OpenedFolder, type TreeEntry } from "./page-tree.ts";

const BATCH = 10_000;

/** A folder with so many files that are not on the page. */
function folderOf(count: number): OpenedFolder {
  const batch: TreeEntry[] = Array.from({ length: BATCH }, (_, at) => ({ kind: "file", name: `other ${at}` }));
  return {
    async *entries() {
      for (let left = count; left > 0; left -= BATCH) yield batch.slice(0, left);
    },
    stat: async () => undefined,
    close: async () => undefined,
  };
}

const page = (count: number) => pageOfTree(async () => folderOf(count), { prefix: "wanted", limit: 10 });

test("a page reads a limited number of entries", async () => {
  expect(await page(MAX_PAGE_ENTRIES)).toEqual({ files: [], prefixes: [], hasMore: false });
  await expect(page(MAX_PAGE_ENTRIES + 1)).rejects.toMatchObject({ kind: "too-large", code: TOO_MANY_ENTRIES });
});
