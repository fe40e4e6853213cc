import { expect, test } from "vitest";
import { useMemoryS3 } from "../../../../test/support/memory-s3.ts";
import { ObjectStoreError } from "../../../object-store/object-store-error.ts";
import type { ObjectVersion } from "../../../object-store/s3/s3-operations.ts";
import { s3Store } from "../../../object-store/s3/s3-store.ts";
import { removeObjects } from "./remove-objects.ts";

const s3 = useMemoryS3();
const { signal } = new AbortController();
const found = { size: 1, modifiedMs: 0, etag: "e", storageClass: null };

function sourcesOf(count: number): { uri: string; size: number; modifiedMs: number; etag: string }[] {
  return Array.from({ length: count }, (_, at) => ({ uri: `s3://bucket/${at}`, size: 1, modifiedMs: 0, etag: "e" }));
}

test("an object is deleted soon after it was checked, whatever the number of objects", async () => {
  const sources = sourcesOf(1000);
  const checked = new Set<string>();
  const deleted: string[] = [];
  let maxWaiting = 0;
  const find = (uri: string) => {
    checked.add(uri);
    maxWaiting = Math.max(maxWaiting, checked.size);
    return Promise.resolve(found);
  };
  const deleteObjects = (objects: readonly ObjectVersion[]) => {
    for (const { uri } of objects) if (checked.delete(uri)) deleted.push(uri);
    return Promise.resolve([]);
  };
  const removal = { store: { deleteObjects }, find, retries: 0, onRetry: () => undefined, signal };
  expect(await removeObjects(sources, removal)).toEqual([]);
  expect(deleted).toEqual(sources.map(({ uri }) => uri));
  expect(maxWaiting).toBeLessThanOrEqual(100);
});

test.each([
  { code: "InvalidArgument", count: 200, requestCount: 3 },
  { code: "InvalidRequest", count: 200, requestCount: 3 },
  // The last request has one object, which is refused.
  { code: "InvalidArgument", count: 97, refusedAt: 96, requestCount: 2 },
  { code: "InvalidArgument", count: 1, refusedAt: 0, requestCount: 1 },
])(
  "$code for one object leaves the condition on all: $count objects",
  async ({ code, count, refusedAt = 7, requestCount }) => {
    const uri = `s3://bucket/${refusedAt}`;
    const requests: (readonly ObjectVersion[])[] = [];
    const deleteObjects = (objects: readonly ObjectVersion[]) => {
      requests.push(objects);
      const refused = objects.filter((object) => object.uri === uri);
      return Promise.resolve(refused.map(() => ({ uri, code, isTransient: false, isUnanswered: false })));
    };
    const find = () => Promise.resolve(found);
    const removal = { store: { deleteObjects }, find, retries: 3, onRetry: () => undefined, signal };
    expect(await removeObjects(sourcesOf(count), removal)).toEqual([{ uri, why: "refused", detail: code }]);
    expect(requests).toHaveLength(requestCount);
    expect(requests.flat().map(({ etag }) => etag)).toEqual(sourcesOf(count).map(({ etag }) => etag));
  },
);

test("an object that is deleted alone may have been deleted if the store does not answer", async () => {
  s3.onRequest = () => {
    throw new Error("breaks the connection");
  };
  const store = s3Store({ ...s3.account, checkAddress: () => null });
  const uri = "s3://bucket/a\u0001"; // cannot be in a list of objects to delete
  let checks = 0;
  const find = () =>
    ++checks === 1 ? Promise.resolve(found) : Promise.reject(new ObjectStoreError("unreachable", "no answer"));
  const removal = { store, find, retries: 3, onRetry: () => undefined, signal };
  const sources = [{ uri, size: 1, modifiedMs: 0, etag: "e" }];
  expect(await removeObjects(sources, removal)).toEqual([{ uri, why: "unknown", detail: "no answer" }]);
  await store.close();
});
