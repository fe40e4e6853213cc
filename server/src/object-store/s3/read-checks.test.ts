import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { afterTest } from "../../../test/support/raw-server.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import type { ByteRange } from "../object-store.ts";
import { statOf } from "./s3-headers.ts";
import type { S3Store } from "./s3-operations.ts";
import { s3Store } from "./s3-store.ts";

const MODIFIED = "Tue, 17 Nov 2026 10:00:00 GMT";
const contents = "0123456789";

/** A store, or a cache in front of it, whose answers to ranges the test decides. */
async function storeThat(
  answer: (request: IncomingMessage, count: number) => { readonly first: number; readonly etag: string },
): Promise<S3Store> {
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    const { first, etag } = answer(request, count);
    const range = `bytes ${first}-${first + 3}/${contents.length}`;
    response.writeHead(206, { etag, "last-modified": MODIFIED, "content-length": 4, "content-range": range });
    response.end(contents.slice(first, first + 4));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const store = s3Store({ endpoint, region: "r", credentials, checkAddress: () => null, retries: 1 });
  afterTest(() => {
    server.close().closeAllConnections();
    void store.close();
  });
  return store;
}

function sizeOrNull(head: Parameters<typeof statOf>[0], range: ByteRange): number | null {
  try {
    return statOf(head, "s3://bucket/a", range).size;
  } catch (error) {
    if (error instanceof ObjectStoreError) return null;
    throw error;
  }
}

const asked = { range: { offset: 4, length: 4 }, ifMatch: "e" };

describe("a range that is not the requested one", () => {
  test("is requested again", async () => {
    const store = await storeThat((_, count) => ({ first: count === 1 ? 0 : 4, etag: '"e"' }));
    expect((await store.read("s3://bucket/a", asked)).bytes.toString()).toBe("4567");
    expect(store.retryCount).toBe(1);
  });

  test("is never returned", async () => {
    const store = await storeThat(() => ({ first: 0, etag: '"e"' }));
    await expect(store.read("s3://bucket/a", asked)).rejects.toMatchObject({ kind: "bad-response" });
    await expect(store.get("s3://bucket/a", asked)).rejects.toMatchObject({ kind: "bad-response" });
  });

  test.each([
    ["bytes 4-7/10", { offset: 4, length: 4 }, 10],
    ["bytes 4-9/10", { offset: 4, length: 100 }, 10],
    ["bytes 4-9/10", { offset: 4 }, 10],
    ["bytes 4-6/10", { offset: 4, length: 4 }, null],
    ["bytes 3-6/10", { offset: 4, length: 4 }, null],
    ["bytes 4-8/10", { offset: 4 }, null],
    ["bytes 4-7/*", { offset: 4, length: 4 }, null],
  ])("is recognized: %s for %j", (given, range, size) => {
    const head = { status: 206, headers: { "last-modified": MODIFIED, "content-range": given } };
    expect(sizeOrNull(head, range)).toBe(size);
  });
});

describe("an answer with another ETag than requested", () => {
  test("is not returned, although the store ignores If-Match", async () => {
    const store = await storeThat(() => ({ first: 4, etag: '"other"' }));
    await expect(store.read("s3://bucket/a", asked)).rejects.toMatchObject({ code: "PreconditionFailed" });
  });

  test("is accepted if only a proxy has marked it as weak", async () => {
    const store = await storeThat(() => ({ first: 4, etag: 'W/"e"' }));
    expect((await store.read("s3://bucket/a", asked)).bytes.toString()).toBe("4567");
  });
});
