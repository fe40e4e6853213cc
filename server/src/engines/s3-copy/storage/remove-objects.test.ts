import { expect, test } from "vitest";
import type { ObjectVersion } from "../../object-store/s3/s3-operations.ts";
import { removeObjects } from "./remove-objects.ts";

test("an object is deleted soon after it was checked, whatever the number of objects", async () => {
  const sources = Array.from({ length: 1000 }, (_, at) => {
    return { uri: `s3://bucket/${at}`, size: 1, modifiedMs: 0, etag: "e" };
  });
  const checked = new Set<string>();
  const deleted: string[] = [];
  let mostWaiting = 0;
  const find = (uri: string) => {
    checked.add(uri);
    mostWaiting = Math.max(mostWaiting, checked.size);
    return Promise.resolve({ size: 1, modifiedMs: 0, etag: "e", storageClass: null });
  };
  const deleteObjects = (objects: readonly ObjectVersion[]) => {
    for (const { uri } of objects) if (checked.delete(uri)) deleted.push(uri);
    return Promise.resolve([]);
  };
  const { signal } = new AbortController();
  const removal = { store: { deleteObjects }, find, retries: 0, onRetry: () => undefined, signal };
  expect(await removeObjects(sources, removal)).toEqual([]);
  expect(deleted).toEqual(sources.map(({ uri }) => uri));
  expect(mostWaiting).toBeLessThanOrEqual(100);
});
