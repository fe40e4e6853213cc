import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ObjectStore } from "../../object-store/object-store.ts";
import { ObjectStoreError } from "../../object-store/object-store-error.ts";
import { s3Store } from "../../object-store/s3/s3-store.ts";
import type { Content } from "../results/command-result.ts";
import { pauseMs } from "./publisher.ts";
import { openUploads, type UploadError } from "./uploads.ts";

/** A storage that answers, but never to the end. */
const sockets = new Set<Socket>();
const dripping = createServer((socket) => {
  sockets.add(socket.on("error", () => undefined).on("data", () => undefined));
  socket.write("HTTP/1.1 200 OK\r\n");
  const timer = setInterval(() => socket.write("x-more: 1\r\n"), 20);
  socket.on("close", () => clearInterval(timer));
});
beforeAll(() => once(dripping.listen(0, "127.0.0.1"), "listening"));
afterAll(() => {
  dripping.close();
  for (const socket of sockets) socket.destroy();
});

const PIECE_BYTES = 1024 * 1024;

function contentOf(bytes: number): Content {
  return {
    isEmpty: false,
    size: () => Promise.resolve(undefined),
    async *read() {
      for (let left = bytes; left > 0; left -= PIECE_BYTES)
        yield await Promise.resolve(Buffer.alloc(Math.min(left, PIECE_BYTES)));
    },
  };
}

/** A storage that stores objects at once. */
const quick = createHttpServer((request, response) => {
  request.resume().on("end", () => response.writeHead(200, { etag: '"e"' }).end());
});
beforeAll(() => once(quick.listen(0, "127.0.0.1"), "listening"));
afterAll(() => quick.close());

function storeAt(server: Server): ObjectStore {
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return s3Store({
    endpoint: `http://127.0.0.1:${port}`,
    region: "us-east-1",
    credentials: { accessKeyId: "any", secretAccessKey: "any" },
    checkAddress: () => null,
  });
}

test.each([1, 40 * 1024 * 1024])("an upload of %i bytes to a storage that is too slow ends", async (bytes) => {
  const store = storeAt(dripping);
  const uploads = openUploads({ graceMs: 300, bytesPerMs: 1e6 });
  await expect(uploads.put(1, store, "s3://bucket/key", contentOf(bytes))).rejects.toMatchObject({
    kind: "unreachable",
    message: "s3://bucket/key: the object store is too slow",
  });
  await store.close();
});

test.each([
  { accounts: 8, each: 2 },
  { accounts: 24, each: 1 },
])("$each uploads of each of $accounts slow storages do not keep the slots from others", async ({ accounts, each }) => {
  const [slow, store] = [storeAt(dripping), storeAt(quick)];
  const uploads = openUploads({ graceMs: 500, bytesPerMs: 1e-6 }); // nothing is too slow
  const ended: string[] = [];
  const put = async (accountId: number, name: string): Promise<void> => {
    await uploads.put(accountId, slow, `s3://bucket/${accountId}/${name}`, contentOf(1)).catch((error: unknown) => {
      ended.push(error instanceof ObjectStoreError ? error.message : "stopped");
    });
  };
  const slowOnes = Array.from({ length: each * accounts }, (_, at) => put(at % accounts, String(at)));
  const others = Array.from({ length: 20 }, (_, at) =>
    uploads.put(1000 + at, store, `s3://bucket/other/${at}`, contentOf(1)).catch((error: unknown) => error),
  );
  // A machine that is busy for half a second makes some of these long, too.
  expect((await Promise.all(others)).filter((error) => error === undefined).length).toBeGreaterThan(10);
  const long = ended.filter((message) =>
    message.endsWith("it was the slowest of many long uploads while others waited"),
  );
  expect(ended).toHaveLength(long.length);
  expect(long.length).toBeGreaterThan(0);
  uploads.stop();
  await Promise.all(slowOnes);
  await Promise.all([slow.close(), store.close()]);
});

test("long uploads go on while no other waits", async () => {
  const [slow, store] = [storeAt(dripping), storeAt(quick)];
  const uploads = openUploads({ graceMs: 60, bytesPerMs: 1e-6 });
  let ended = 0;
  const slowOnes = Array.from({ length: 15 }, (_, at) =>
    uploads.put(at, slow, `s3://bucket/${at}`, contentOf(1)).catch(() => (ended += 1)),
  );
  const began = performance.now();
  for (let at = 0; performance.now() - began < 300; at += 1) {
    await uploads.put(1000, store, `s3://bucket/other/${at}`, contentOf(1));
  }
  expect(ended).toBe(0);
  uploads.stop();
  await Promise.all(slowOnes);
  await Promise.all([slow.close(), store.close()]);
});

test("the time of a failed upload does not include its wait for a slot", async () => {
  const store = storeAt(dripping);
  const uploads = openUploads({ graceMs: 300, bytesPerMs: 1e6 });
  const began = performance.now();
  const failures = await Promise.all(
    ["one", "two", "three"].map((name) =>
      uploads.put(1, store, `s3://bucket/${name}`, contentOf(1)).catch((error: unknown) => error),
    ),
  );
  const elapsedMs = performance.now() - began;
  const { tookMs } = failures[2] as UploadError; // the third waits for the others
  expect(tookMs).toBeGreaterThanOrEqual(300);
  expect(tookMs).toBeLessThan(elapsedMs - 250);
  await store.close();
});

test.each([
  { failures: 1, tookMs: 10, pause: 1000 },
  { failures: 20, tookMs: 10, pause: 60_000 },
  { failures: 1, tookMs: 30_000, pause: 300_000 },
  { failures: 9, tookMs: 3_600_000, pause: 600_000 },
])(
  "after $failures failures, the last of $tookMs ms, an account pauses for $pause ms",
  ({ failures, tookMs, pause }) => {
    expect(pauseMs(failures, tookMs)).toBe(pause);
  },
);
