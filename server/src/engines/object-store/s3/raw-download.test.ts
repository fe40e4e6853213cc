import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterTest, ok, rawServer, whenClosed, type RawAnswer } from "../../../../test/support/raw-server.ts";
import { downloaderWith, downloadRequest, downloadText } from "../../../../test/support/raw-downloads.ts";
import { LengthMissing } from "./raw-download.ts";
import { s3Store } from "./s3-store.ts";

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
    const downloader = downloaderWith();
    for (let each = 0; each < 3; each += 1) {
      const into = Buffer.alloc(body.length);
      const { status, headers, bytes } = await downloader.get(downloadRequest(origin, "/b/k?x=1"), into, undefined);
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
    const downloader = downloaderWith();
    const all = await Promise.all([1, 2, 3].map(() => downloadText(downloader, origin)));
    expect(all.sort()).toEqual(["0", "1", "2"]);
  });

  test("may arrive in pieces of any size", async () => {
    const anyCuts = fc.array(fc.nat(200), { maxLength: 8 });
    const arrives = fc.asyncProperty(fc.string({ maxLength: 50 }), anyCuts, async (given, cuts) => {
      const whole = ok(Buffer.from(given).toString("latin1"), "ETag: x");
      const places = [0, ...cuts.map((cut) => cut % whole.length).sort((one, other) => one - other), whole.length];
      const { origin } = await rawServer(async (socket) => {
        for (const [at, start] of places.slice(0, -1).entries()) {
          socket.write(Buffer.from(whole.slice(start, places[at + 1]), "latin1"));
          await nextTurn();
        }
      });
      const downloader = downloaderWith();
      for (let each = 0; each < 2; each += 1) expect(await downloadText(downloader, origin)).toBe(given);
    });
    await fc.assert(arrives, { numRuns: 60 });
  });

  test("may be shorter than the memory, or empty", async () => {
    const { origin } = await rawServer((socket, count) => socket.write(ok(count === 1 ? "" : "short")));
    const downloader = downloaderWith();
    expect(await downloadText(downloader, origin)).toBe("");
    expect(await downloadText(downloader, origin)).toBe("short");
  });

  test.each([
    ["Connection: close", ok("x", "Connection: close")],
    ["HTTP/1.0", ok("x").replace("HTTP/1.1", "HTTP/1.0")],
  ])("with %s ends its connection", async (_what, answer) => {
    const { origin, sockets } = await rawServer((socket) => socket.write(answer));
    const downloader = downloaderWith();
    expect([await downloadText(downloader, origin), await downloadText(downloader, origin)]).toEqual(["x", "x"]);
    expect(sockets).toHaveLength(2);
  });

  test("that is an error is returned with its body, which does not touch the memory", async () => {
    const error = "<Error>".padEnd(300, "x");
    const { origin, sockets } = await rawServer((socket, count) =>
      socket.write(count === 1 ? ok(error).replace("200 OK", "503 Slow Down") : ok("y")),
    );
    const downloader = downloaderWith();
    const into = Buffer.from("untouched");
    const { status, bytes } = await downloader.get(downloadRequest(origin), into, undefined);
    expect([status, bytes.toString(), into.toString()]).toEqual([503, error, "untouched"]);
    expect(await downloadText(downloader, origin)).toBe("y");
    expect(sockets).toHaveLength(1);
  });

  test.each([
    ["in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"],
    ["without a length", "HTTP/1.1 200 OK\r\n\r\nx"],
    ["after an informational one", `HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n${ok("x")}`],
    ["with a large error", "HTTP/1.1 500 Error\r\nContent-Length: 100000\r\n\r\n"],
  ])("%s is left to a general client", async (_what, answer) => {
    const { origin, sockets } = await rawServer((socket) => socket.write(answer));
    await expect(downloadText(downloaderWith(), origin)).rejects.toBeInstanceOf(LengthMissing);
    await whenClosed(sockets[0]);
  });

  test.each([
    ["that announces more than the memory can hold", ok("x".repeat(101))],
    ["with more bytes than announced", `${ok("x")}y`],
    ["with two lengths", ok("x", "Content-Length: 2")],
    ["with an endless head", `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(20_000)}`],
    ["of another protocol", "220 smtp.example.com\r\n\r\n"],
  ])("%s is an error, and its connection is not used again", async (_what, answer) => {
    const { origin, sockets } = await rawServer((socket, count) => socket.write(count === 1 ? answer : ok("fine")));
    const downloader = downloaderWith();
    await expect(downloadText(downloader, origin)).rejects.toMatchObject({ kind: "bad-response" });
    expect(await downloadText(downloader, origin)).toBe("fine");
    expect(sockets).toHaveLength(2);
  });
});

describe("a large object of a store", () => {
  const body = "x".repeat(300_000);
  const head = ["HTTP/1.1 200 OK", "Last-Modified: Tue, 17 Nov 2026 20:00:00 GMT", 'ETag: "e"'];
  const storeAt = (endpoint: string): ReturnType<typeof s3Store> => {
    const credentials = { accessKeyId: "a", secretAccessKey: "s" };
    const store = s3Store({ endpoint, region: "us-east-1", credentials, checkAddress: () => null });
    afterTest(() => void store.close());
    return store;
  };

  test("that comes in chunks is read by the general client", async () => {
    const range = `Content-Range: bytes 0-${body.length - 1}/400000`;
    const chunks = ["Transfer-Encoding: chunked", "", body.length.toString(16), body, "0", "", ""];
    const answer = [...head, range, ...chunks].join("\r\n").replace("200", "206");
    const { origin, requests } = await rawServer((socket) => socket.write(answer));
    const { bytes } = await storeAt(origin).read("s3://bucket/k", { range: { offset: 0, length: body.length } });
    expect(bytes.toString()).toBe(body);
    expect(requests).toHaveLength(2);
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
