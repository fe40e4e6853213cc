import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterTest, ok, rawServer, whenClosed, type RawAnswer } from "../../../test/support/raw-server.ts";
import { rawClientWith, getRequest, getText, openStream } from "../../../test/support/raw-clients.ts";
import type { S3Store } from "./s3-operations.ts";
import { s3Store } from "./s3-store.ts";

function storeAt(endpoint: string, maxConnections = 16): S3Store {
  const credentials = { accessKeyId: "a", secretAccessKey: "s" };
  const store = s3Store({ endpoint, region: "us-east-1", credentials, checkAddress: () => null, maxConnections });
  afterTest(() => void store.close());
  return store;
}

describe("an answer", () => {
  test("of an HTTP server goes into the given memory, and the next ones use the same connection", async () => {
    const body = Buffer.alloc(3 * 1024 * 1024, "abcdefg");
    const connections = new Set<Socket>();
    const server = createHttpServer(({ socket, url, headers }, response) => {
      connections.add(socket);
      response
        .setHeader("x-asked", `${url} ${String(headers["x-a"])}`)
        .setHeader("content-length", body.length)
        .end(body);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    afterTest(() => server.close().closeAllConnections());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = rawClientWith();
    for (let each = 0; each < 3; each += 1) {
      const into = Buffer.alloc(body.length);
      const { status, headers, bytes } = await client.send(getRequest(origin, "/b/k?x=1"), into, undefined);
      expect([status, headers["x-asked"]]).toEqual([200, "/b/k?x=1 1"]);
      expect(bytes.buffer).toBe(into.buffer);
      expect(into.equals(body)).toBe(true);
    }
    expect(connections.size).toBe(1);
  });

  test("to each of several concurrent requests comes on its own connection", async () => {
    const { origin, sockets } = await rawServer((socket, count) => {
      if (count === 3) for (const [at, each] of sockets.entries()) each.write(ok(String(at)));
    });
    const client = rawClientWith();
    const all = await Promise.all([1, 2, 3].map(() => getText(client, origin)));
    expect(all.sort()).toEqual(["0", "1", "2"]);
  });

  test("may arrive in pieces of any size", async () => {
    const anyCuts = fc.array(fc.nat(200), { maxLength: 8 });
    const arrives = fc.asyncProperty(fc.string({ maxLength: 50 }), anyCuts, async (given, cuts) => {
      const whole = ok(Buffer.from(given).toString("latin1"), "ETag: x");
      const positions = [0, ...cuts.map((cut) => cut % whole.length).sort((one, other) => one - other), whole.length];
      const { origin } = await rawServer(async (socket) => {
        for (const [at, start] of positions.slice(0, -1).entries()) {
          socket.write(Buffer.from(whole.slice(start, positions[at + 1]), "latin1"));
          await nextTurn();
        }
      });
      const client = rawClientWith();
      for (let each = 0; each < 2; each += 1) expect(await getText(client, origin)).toBe(given);
    });
    await fc.assert(arrives, { numRuns: 60 });
  });

  test("may be shorter than the memory, or empty", async () => {
    const { origin } = await rawServer((socket, count) => socket.write(ok(count === 1 ? "" : "short")));
    const client = rawClientWith();
    expect(await getText(client, origin)).toBe("");
    expect(await getText(client, origin)).toBe("short");
  });

  test.each([
    ["Connection: close", ok("x", "Connection: close")],
    ["HTTP/1.0", ok("x").replace("HTTP/1.1", "HTTP/1.0")],
  ])("with %s ends its connection", async (_what, answer) => {
    const { origin, sockets } = await rawServer((socket) => socket.write(answer));
    const client = rawClientWith();
    expect([await getText(client, origin), await getText(client, origin)]).toEqual(["x", "x"]);
    expect(sockets).toHaveLength(2);
  });

  test("that is an error is returned with its body, which does not touch the memory", async () => {
    const error = "<Error>".padEnd(300, "x");
    const { origin, sockets } = await rawServer((socket, count) =>
      socket.write(count === 1 ? ok(error).replace("200 OK", "503 Slow Down") : ok("y")),
    );
    const client = rawClientWith();
    const into = Buffer.from("untouched");
    const { status, bytes } = await client.send(getRequest(origin), into, undefined);
    expect([status, bytes.toString(), into.toString()]).toEqual([503, error, "untouched"]);
    expect(await getText(client, origin)).toBe("y");
    expect(sockets).toHaveLength(1);
  });

  test.each([
    [
      "in chunks",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n2;a=b\r\nyz\r\n0\r\nA: b\r\n\r\n",
      "xyz",
    ],
    ["after an informational one", `HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n${ok("x")}`, "x"],
    ["without contents", "HTTP/1.1 204 No Content\r\n\r\n", ""],
  ])("%s is read to its end, and its connection is used again", async (_what, answer, expected) => {
    const { origin, sockets } = await rawServer((socket) => socket.write(answer));
    const client = rawClientWith();
    for (let each = 0; each < 2; each += 1) expect(await getText(client, origin)).toBe(expected);
    expect(sockets).toHaveLength(1);
  });

  test("without a length ends with its connection", async () => {
    const { origin } = await rawServer((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\nxyz"));
    expect(await getText(rawClientWith(), origin)).toBe("xyz");
  });

  test.each([
    ["of known length", "Content-Length: 100000\r\n\r\n"],
    ["in chunks", "Transfer-Encoding: chunked\r\n\r\n186a0\r\n"],
  ])("that is a large error %s is read in part, and its connection is not used again", async (_what, headers) => {
    const large = `HTTP/1.1 500 Error\r\n${headers}${"x".repeat(70_000)}`;
    const { origin, sockets } = await rawServer((socket, count) => socket.write(count === 1 ? large : ok("fine")));
    const client = rawClientWith();
    const { status, bytes } = await client.send(getRequest(origin), 100, undefined);
    expect([status, bytes.length]).toEqual([500, 64 * 1024]);
    await whenClosed(sockets[0]);
    expect(await getText(client, origin)).toBe("fine");
  });

  test("in chunks, in pieces of any size, is put together", async () => {
    const arrives = fc.asyncProperty(
      fc.array(fc.string({ minLength: 1, maxLength: 30, unit: "grapheme-ascii" }), { maxLength: 3 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 20 })),
      async (chunks, sizes) => {
        const body = [...chunks, ""].map((each) => `${each.length.toString(16)}\r\n${each}\r\n`).join("");
        const answer = Buffer.from(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body}`);
        const { origin } = await rawServer(async (socket) => {
          for (let at = 0; at < answer.length;) {
            const size = sizes.next().value ?? 1;
            socket.write(answer.subarray(at, at + size));
            at += size;
            await nextTurn();
          }
        });
        const client = rawClientWith();
        for (let each = 0; each < 2; each += 1) expect(await getText(client, origin)).toBe(chunks.join(""));
      },
    );
    await fc.assert(arrives, { numRuns: 60 });
  });

  test("whose head comes byte by byte takes about as much time if it is full of almost complete ends", async () => {
    /** The CPU time of the whole process. */
    const timeOf = async (begun: string): Promise<number> => {
      const { origin, sockets, requests } = await rawServer((socket) => socket.write(begun));
      const reading = getText(rawClientWith(), origin);
      await expect.poll(() => requests.length).toBe(1);
      const before = process.cpuUsage();
      for (let each = 0; each < 2_000; each += 1) {
        sockets[0]?.write("x");
        await nextTurn();
      }
      sockets[0]?.destroy();
      await expect(reading).rejects.toMatchObject({ code: "ECONNRESET" });
      return process.cpuUsage(before).user;
    };
    const plain = await timeOf("x".repeat(60_000));
    expect(await timeOf("\r\n\r".repeat(20_000))).toBeLessThan(5 * plain);
  });

  test("to HEAD has no body, whatever length it announces", async () => {
    const { origin } = await rawServer((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"));
    const client = rawClientWith();
    for (let each = 0; each < 2; each += 1) {
      const { headers, bytes } = await client.send({ ...getRequest(origin), method: "HEAD" }, 0, undefined);
      expect([headers["content-length"], bytes.length]).toEqual(["5", 0]);
    }
  });

  test.each([
    ["that announces more than the memory can hold", ok("x".repeat(101))],
    ["with more bytes than announced", `${ok("x")}y`],
    ["with two lengths", ok("x", "Content-Length: 2")],
    ["with an endless head", `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(20_000)}`],
    ["with a chunk that has no length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"],
    ["with a chunk that does not end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n"],
    [
      "with more in chunks than allowed",
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n${"x".repeat(101)}`,
    ],
    ["with endless trailers", `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${"a: b\r\n".repeat(20_000)}`],
    ["after too many informational ones", "HTTP/1.1 100\r\n\r\n".repeat(17) + ok("x")],
    ["in an unknown encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"],
    ["of another protocol", "220 smtp.example.com\r\n\r\n"],
  ])("%s is an error, and its connection is not used again", async (_what, answer) => {
    const { origin, sockets } = await rawServer((socket, count) => socket.write(count === 1 ? answer : ok("fine")));
    const client = rawClientWith();
    await expect(getText(client, origin)).rejects.toMatchObject({ kind: "bad-response" });
    expect(await getText(client, origin)).toBe("fine");
    expect(sockets).toHaveLength(2);
  });
});

describe("an answer that is read as a stream", () => {
  test.each([
    ["of known length", `HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n`, "some text"],
    ["in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "9\r\nsome text\r\n0\r\n\r\n"],
    ["without contents", "HTTP/1.1 204 No Content\r\n\r\n", ""],
    ["that is empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""],
  ])("%s comes whole, in pieces of any size, and its connection is used again", async (_what, head, body) => {
    for (const size of [1, 7, 1000]) {
      const { origin, sockets } = await rawServer(async (socket) => {
        for (let at = 0; at < head.length + body.length; at += size) {
          socket.write((head + body).slice(at, at + size));
          await nextTurn();
        }
      });
      const client = rawClientWith();
      for (let each = 0; each < 2; each += 1) {
        expect(await text(await openStream(client, origin))).toBe(body === "" ? "" : "some text");
        await nextTurn();
      }
      expect(sockets).toHaveLength(1);
    }
  });

  test("without a length is refused, because it could end too early", async () => {
    const { origin } = await rawServer((socket) => socket.end("HTTP/1.1 206 Partial Content\r\n\r\nxyz"));
    await expect(openStream(rawClientWith(), origin)).rejects.toMatchObject({ kind: "bad-response" });
  });

  test("that is malformed in the same packet as its head fails the request, and frees its place for the next request", async () => {
    const malformed = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n";
    const { origin } = await rawServer((socket) => socket.write(malformed));
    const store = storeAt(origin, 1);
    for (let each = 0; each < 2; each += 1) {
      await expect(store.get("s3://bucket/k")).rejects.toMatchObject({ kind: "bad-response" });
    }
  });

  test("comes only as fast as it is read, and waiting for its reader is not silence", async () => {
    const body = Buffer.alloc(32 * 1024 * 1024, "abcdefg");
    let sent = 0;
    const { origin } = await rawServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
      const send = (at: number): void => {
        sent = at;
        if (at < body.length) socket.write(body.subarray(at, at + 65_536), () => send(at + 65_536));
      };
      send(0);
    });
    const stream = await openStream(rawClientWith({ bodyIdleTimeoutMs: 1000 }), origin);
    await expect
      .poll(async () => [sent, await pause(1200).then(() => sent)])
      .toSatisfy(([before, after]) => before === after);
    expect(sent).toBeLessThan(body.length);
    expect((await buffer(stream)).equals(body)).toBe(true);
  });

  test.each([
    ["cut short", (socket: Socket) => socket.resetAndDestroy(), { code: "ECONNRESET" }],
    ["followed by more bytes", (socket: Socket) => socket.write("y".repeat(99)), { kind: "bad-response" }],
  ])("that is %s fails", async (_what, end, error) => {
    const { origin, sockets } = await rawServer((socket, count) =>
      count === 1
        ? socket.write(ok("x".repeat(50)).slice(0, -1), () => setImmediate(() => end(socket)))
        : socket.write(ok("z")),
    );
    const client = rawClientWith();
    await expect(openStream(client, origin).then(text)).rejects.toMatchObject(error);
    expect(await text(await openStream(client, origin))).toBe("z");
    expect(sockets).toHaveLength(2);
  });

  test("ends its connection when it is destroyed or aborted", async () => {
    const { origin, sockets } = await rawServer((socket) => socket.write(ok("x".repeat(50)).slice(0, -1)));
    const client = rawClientWith();
    (await openStream(client, origin)).destroy();
    await whenClosed(sockets[0]);
    const controller = new AbortController();
    const stream = await openStream(client, origin, controller.signal);
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(text(stream)).rejects.toBe(reason);
    await whenClosed(sockets[1]);
  });

  test("that is an error is returned with its body", async () => {
    const { origin } = await rawServer((socket) => socket.write(ok("<Error>").replace("200 OK", "404 Not Found")));
    const { status, stream, bytes } = await rawClientWith().send(getRequest(origin), "stream", undefined);
    expect([status, stream, bytes.toString()]).toEqual([404, null, "<Error>"]);
  });
});

describe("a large object of a store", () => {
  const body = "x".repeat(300_000);
  const head = ["HTTP/1.1 200 OK", "Last-Modified: Tue, 17 Nov 2026 20:00:00 GMT", 'ETag: "e"'];
  test("that comes in chunks is read by one request", async () => {
    const range = `Content-Range: bytes 0-${body.length - 1}/400000`;
    const chunks = ["Transfer-Encoding: chunked", "", body.length.toString(16), body, "0", "", ""];
    const answer = [...head, range, ...chunks].join("\r\n").replace("200", "206");
    const { origin, requests } = await rawServer((socket) => socket.write(answer));
    const { bytes } = await storeAt(origin).read("s3://bucket/k", { range: { offset: 0, length: body.length } });
    expect(bytes.toString()).toBe(body);
    expect(requests).toHaveLength(1);
  });

  test("is requested again after an error, a reset and half an answer", async () => {
    const whole = [...head, `Content-Length: ${body.length}`, "", body].join("\r\n");
    const answers: RawAnswer[] = [
      (socket) => socket.write("HTTP/1.1 503 Slow Down\r\nContent-Length: 3\r\n\r\n<a>"),
      (socket) => socket.resetAndDestroy(),
      (socket) => socket.write(whole.slice(0, 100_000), () => socket.resetAndDestroy()),
      (socket) => socket.write(whole),
    ];
    const { origin, requests } = await rawServer((socket, count) => answers[count - 1]?.(socket, count));
    const store = storeAt(origin);
    const { bytes } = await store.read("s3://bucket/k", { expectedBytes: body.length });
    expect(bytes.toString()).toBe(body);
    expect([requests.length, store.retryCount]).toEqual([4, 3]);
  });
});
