import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { s3Store } from "../../engines/object-store/s3/s3-store.ts";
import type { Content } from "../results/command-result.ts";
import { openUploads } from "./uploads.ts";

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

function contentOf(bytes: number): Content {
  return {
    isEmpty: false,
    size: () => Promise.resolve(undefined),
    async *read() {
      for (let left = bytes; left > 0; left -= 1024 * 1024) yield await Promise.resolve(Buffer.alloc(1024 * 1024));
    },
  };
}

test.each([1, 40 * 1024 * 1024])("an upload of %i bytes to a storage that is too slow ends", async (bytes) => {
  const { port } = dripping.address() as AddressInfo; // a TCP server that listens has one
  const store = s3Store({
    endpoint: `http://127.0.0.1:${port}`,
    region: "us-east-1",
    credentials: { accessKeyId: "any", secretAccessKey: "any" },
    checkAddress: () => null,
  });
  const uploads = openUploads({ graceMs: 300, bytesPerMs: 1e6 });
  await expect(uploads.put(1, store, "s3://bucket/key", contentOf(bytes))).rejects.toMatchObject({
    kind: "unreachable",
    message: "s3://bucket/key: the object store is too slow",
  });
  await store.close();
});
