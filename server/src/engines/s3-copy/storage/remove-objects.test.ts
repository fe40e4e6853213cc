import { expect, test } from "vitest";
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
  const deleteObjects = (uris: readonly string[]) => {
    for (const uri of uris) if (checked.delete(uri)) deleted.push(uri);
    return Promise.resolve([]);
  };
  await removeObjects(sources, { deleteObjects }, find, new AbortController().signal);
  expect(deleted).toEqual(sources.map(({ uri }) => uri));
  expect(mostWaiting).toBeLessThanOrEqual(100);
});
