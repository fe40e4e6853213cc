import { randomBytes } from "node:crypto";
import { getEventListeners, once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { afterTest, ok, rawServer } from "../../../test/support/raw-server.ts";
import { rawClientWith, getRequest, getText } from "../../../test/support/raw-clients.ts";
import type { RawRequest, StreamedBody } from "./raw-request.ts";

const MIB = 1024 * 1024;
const mebibyte = Buffer.alloc(MIB);

describe("a request", () => {
  interface Received {
    readonly method: string | undefined;
    readonly length: string | undefined;
    readonly body: Buffer;
  }

  /** Answers with the number of the connection. */
  async function receiver(): Promise<{ origin: string; received: Received[] }> {
    const received: Received[] = [];
    const sockets: Socket[] = [];
    const server = createHttpServer((request, response) => {
      if (!sockets.includes(request.socket)) sockets.push(request.socket);
      void buffer(request).then((body) => {
        received.push({ method: request.method, length: request.headers["content-length"], body });
        response.end(String(sockets.indexOf(request.socket)));
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    afterTest(() => server.close().closeAllConnections());
    return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
  }

  const put = (origin: string, body: RawRequest["body"]): RawRequest => ({
    ...getRequest(origin),
    method: "PUT",
    body,
  });
  const streamed = (pieces: readonly Buffer[], bytes = Buffer.concat(pieces).length): StreamedBody => ({
    bytes,
    contents: async function* () {
      for (const piece of pieces) {
        await nextTurn();
        yield piece;
      }
    },
  });

  test("with a body is sent with its length, and its connection is used again", async () => {
    const { origin, received } = await receiver();
    const client = rawClientWith();
    const large = randomBytes(3_000_000);
    const bodies = [
      Buffer.from("contents"),
      large,
      streamed([large, Buffer.alloc(0), large.subarray(0, 7)]),
      streamed([]),
    ];
    for (const body of bodies) {
      expect((await client.send(put(origin, body), 100, undefined)).bytes.toString()).toBe("0");
    }
    expect(received.map(({ method, length }) => [method, length])).toEqual(
      ["8", "3000000", "3000007", "0"].map((length) => ["PUT", length]),
    );
    expect(received[1]?.body.equals(large)).toBe(true);
    expect(received[2]?.body.equals(Buffer.concat([large, large.subarray(0, 7)]))).toBe(true);
  });

  test.each([
    ["fewer", streamed([Buffer.from("x")], 2)],
    ["more", streamed([Buffer.from("xyz")], 2)],
  ])("whose body has %s bytes than announced fails", async (_what, body) => {
    const { origin, received } = await receiver();
    const sending = rawClientWith().send(put(origin, body), 100, undefined);
    await expect(sending).rejects.toThrow("the body of the request does not have the announced length");
    expect(received).toEqual([]);
  });

  test("whose body cannot be read fails with that reason", async () => {
    const { origin } = await receiver();
    const contents = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from("x");
      await nextTurn();
      throw new Error("the disk is broken");
    };
    const sending = rawClientWith().send(put(origin, { bytes: 2, contents }), 100, undefined);
    await expect(sending).rejects.toThrow("the disk is broken");
  });

  test.each([
    ["in a buffer", () => Buffer.alloc(50_000_000)],
    ["as a stream", () => streamed(Array.from({ length: 50 }, () => Buffer.alloc(1_000_000)))],
  ])(
    "that is refused before its body %s was sent ends with that answer, on a connection of its own",
    async (_how, body) => {
      const { origin, sockets } = await rawServer((socket, count) =>
        socket.write(count === 1 ? ok("<Error>").replace("200 OK", "403 Forbidden") : ok("fine")),
      );
      const client = rawClientWith();
      const paused = client.send(put(origin, body()), 100, undefined);
      const { status, bytes } = await paused;
      expect([status, bytes.toString()]).toEqual([403, "<Error>"]);
      expect(await getText(client, origin)).toBe("fine");
      expect(sockets).toHaveLength(2);
    },
  );

  test("stops reading its body when it is aborted", async () => {
    const { origin } = await rawServer(() => undefined);
    const controller = new AbortController();
    const ended = Promise.withResolvers<void>();
    const contents = async function* (): AsyncGenerator<Buffer> {
      try {
        for (;;) yield Buffer.alloc(1_000_000);
      } finally {
        ended.resolve();
      }
    };
    const sending = rawClientWith().send(put(origin, { bytes: 1e12, contents }), 100, controller.signal);
    await nextTurn();
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(sending).rejects.toBe(reason);
    await ended.promise;
  });

  test("has no time limit while the store takes its body, however slowly", async () => {
    const bytes = 128 * MIB; // more than the buffers of a connection
    const [limitMs, stepMs] = [1000, 100];
    let received = 0;
    const server = createServer((socket) => {
      const begun = performance.now();
      let step = 0;
      const resume = (): unknown => socket.resume();
      socket.on("data", (chunk) => {
        received += chunk.length;
        if (received > bytes) socket.end(ok("stored"));
        const isSlow = performance.now() - begun < 2 * limitMs;
        if (!isSlow || received < (step + 1) * 2 * MIB) return;
        step += 1;
        socket.pause();
        setTimeout(resume, stepMs);
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    afterTest(() => void server.close());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const body = streamed(
      Array.from({ length: 128 }, () => mebibyte),
      bytes,
    );
    const client = rawClientWith({ headersTimeoutMs: limitMs });
    expect((await client.send(put(origin, body), 100, undefined)).bytes.toString()).toBe("stored");
  });

  test("has no time limit while the source of its body is silent, but one after that", async () => {
    const { origin } = await rawServer(() => undefined);
    let isRead = false;
    const contents = async function* (): AsyncGenerator<Buffer> {
      await pause(500);
      yield Buffer.from("x");
      await pause(500);
      isRead = true;
      yield Buffer.from("y");
    };
    const client = rawClientWith({ headersTimeoutMs: 200 });
    const sending = client.send(put(origin, { bytes: 2, contents }), 100, undefined);
    await expect(sending).rejects.toMatchObject({ code: "UND_ERR_HEADERS_TIMEOUT" });
    expect(isRead).toBe(true);
  });

  test("succeeds although the source of the previous body on the same connection fails meanwhile", async () => {
    const failing = Promise.withResolvers<void>();
    const contents = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from("x");
      await failing.promise;
    };
    const { origin, sockets } = await rawServer((socket, count) => {
      if (count === 1) socket.write(ok("1"));
      else {
        failing.reject(new Error("the disk is broken"));
        setImmediate(() => socket.write(ok("2")));
      }
    });
    const client = rawClientWith();
    await client.send(put(origin, { bytes: 1, contents }), 100, undefined);
    expect(await getText(client, origin)).toBe("2");
    expect(sockets).toHaveLength(1);
  });

  test("leaves no listener on its signal", async () => {
    const { origin } = await rawServer((socket) => socket.write(ok("x")));
    const client = rawClientWith();
    const { signal } = new AbortController();
    const requests = [1, 2, 3].map(() => client.send(getRequest(origin), 100, signal));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await Promise.all(requests);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("has a time limit while the store takes none of its body", async () => {
    const silent = await rawServer((socket) => socket.pause());
    const client = rawClientWith({ headersTimeoutMs: 200 });
    const sending = client.send(put(silent.origin, Buffer.alloc(50_000_000)), 100, undefined);
    await expect(sending).rejects.toMatchObject({ code: "UND_ERR_HEADERS_TIMEOUT" });
  });
});
