import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from "node:tls";
import { describe, expect, test } from "vitest";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { ok, rawServer, whenClosed } from "../../../test/support/raw-server.ts";
import { rawClientWith, getRequest, getText, openStream } from "../../../test/support/raw-clients.ts";

describe("a connection", () => {
  const limits = { connectTimeoutMs: 5_000, headersTimeoutMs: 100, bodyIdleTimeoutMs: 100 };
  const half = ok("x".repeat(50)).slice(0, -20);

  test.each([
    ["before the answer", "", "HEADERS"],
    ["in the middle of the head", half.slice(0, 20), "HEADERS"],
    ["in the middle of the body", half, "BODY"],
  ])("that is silent %s has a time limit", async (_when, begun, phase) => {
    const { origin } = await rawServer((socket) => socket.write(begun));
    const code = `UND_ERR_${phase}_TIMEOUT`;
    await expect(getText(rawClientWith(limits), origin)).rejects.toMatchObject({ code });
    const stream = openStream(rawClientWith(limits), origin).then(text);
    await expect(stream).rejects.toMatchObject({ code });
  });

  test("that sends its head too slowly has a time limit for all of it", async () => {
    const { origin } = await rawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nA: ");
      const slowly = setInterval(() => socket.write("x"), 20);
      socket.on("close", () => clearInterval(slowly));
    });
    const reading = getText(rawClientWith({ ...limits, headersTimeoutMs: 500 }), origin);
    await expect(reading).rejects.toMatchObject({ code: "UND_ERR_HEADERS_TIMEOUT" });
  });

  test("may be silent for longer if its request says so", async () => {
    const { origin } = await rawServer((socket) => setTimeout(() => socket.write(ok("x")), 200));
    const patient = { ...getRequest(origin), timeoutMs: 10_000 };
    expect((await rawClientWith(limits).send(patient, 100, undefined)).bytes.toString()).toBe("x");
  });

  test.each([
    ["reset", (socket: Socket) => void socket.resetAndDestroy()],
    ["ended", (socket: Socket) => void socket.end()],
  ])("that is %s before the answer or in the middle of it fails as reset", async (_what, end) => {
    for (const begun of ["", half]) {
      const { origin } = await rawServer((socket) => socket.write(begun, () => setImmediate(() => end(socket))));
      await expect(getText(rawClientWith(), origin)).rejects.toMatchObject({ code: "ECONNRESET" });
    }
  });

  test("to a port where nothing listens fails with the reason", async () => {
    const server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    await once(server.close(), "close");
    await expect(getText(rawClientWith(), `http://127.0.0.1:${port}`)).rejects.toMatchObject({
      code: "ECONNREFUSED",
    });
  });

  test("that the store closes or writes to while it is idle is not used again", async () => {
    for (const disturb of [(socket: Socket) => socket.end(), (socket: Socket) => socket.write("?")]) {
      const { origin, sockets } = await rawServer((socket) => socket.write(ok("x")));
      const client = rawClientWith();
      await getText(client, origin);
      for (const socket of sockets) disturb(socket);
      await whenClosed(sockets[0]);
      expect(await getText(client, origin)).toBe("x");
      expect(sockets).toHaveLength(2);
    }
  });

  test("is new after a failure, because the store may have closed the others, too", async () => {
    const { origin, sockets } = await rawServer((socket, count) => {
      if (count < 3) for (const each of count === 1 ? [] : sockets) each.write(ok("x"));
      else if (count === 3) socket.resetAndDestroy();
      else socket.write(ok("y"));
    });
    const client = rawClientWith();
    await Promise.all([getText(client, origin), getText(client, origin)]);
    await expect(getText(client, origin)).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(await getText(client, origin)).toBe("y");
    expect(sockets).toHaveLength(3);
  });

  test("that is not made yet ends when the client is closed", async () => {
    const { origin, sockets } = await rawServer(() => undefined);
    const client = rawClientWith();
    const reading = getText(client, origin.replace("http:", "https:")); // its handshake is never answered
    await expect.poll(() => sockets.length).toBe(1);
    client.close();
    await expect(reading).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  test("ends when the client is closed, which then refuses requests", async () => {
    const { origin, sockets } = await rawServer((socket) => socket.write(ok("x")));
    const client = rawClientWith();
    await getText(client, origin);
    client.close();
    await whenClosed(sockets[0]);
    await expect(getText(client, origin)).rejects.toThrow("the object store is closed");
  });

  test("ends when its request is aborted, and the caller gets its own reason", async () => {
    const { origin, sockets, requests } = await rawServer((socket, count) => {
      if (count === 2) socket.write(half);
      setImmediate(() => controllers[count - 1]?.abort(reason));
    });
    const reason = new Error("enough");
    const controllers = [new AbortController(), new AbortController()];
    const client = rawClientWith();
    for (const { signal } of controllers) {
      await expect(client.send(getRequest(origin), Buffer.alloc(100), signal)).rejects.toBe(reason);
    }
    await expect(client.send(getRequest(origin), Buffer.alloc(9), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(requests).toHaveLength(2);
    for (const socket of sockets) await whenClosed(socket);
  });

  test.each(["127.0.0.1", "localhost"])("to %s is not made if the address is refused", async (host) => {
    const { origin, sockets } = await rawServer((socket) => socket.write(ok("x")));
    const refusing = rawClientWith({ checkAddress: (address) => `${address} is not allowed` });
    const refused = getText(refusing, origin.replace("127.0.0.1", host));
    await expect(refused).rejects.toMatchObject({ kind: "refused-address" });
    expect(await getText(rawClientWith(), origin.replace("127.0.0.1", host))).toBe("x"); // works if it is allowed
    expect(sockets).toHaveLength(1);
  });

  test("never carries a line break from a path or a header", async () => {
    const { origin, requests } = await rawServer((socket) => socket.write(ok("x")));
    const client = rawClientWith();
    const wrong = [
      { ...getRequest(origin), path: "/a HTTP/1.1\r\nx: y" },
      { ...getRequest(origin), headers: { host: "h", "x-a": "1\nx: y" } },
      { ...getRequest(origin), headers: { host: "h", "x-a": "1\u010D\u010Ax: y" } }, // their lower bytes are a line break
    ];
    for (const each of wrong) {
      await expect(client.send(each, Buffer.alloc(9), undefined)).rejects.toThrow(
        "must contain only printable characters",
      );
    }
    await getText(client, origin);
    expect(requests).toHaveLength(1);
  });
});

const openssl = spawnSync("openssl", ["version"]).status === 0;

describe.skipIf(!openssl)("a connection by TLS", because("this machine has no openssl to make a certificate"), () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-tls-"));
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];

  test("reads into the given memory like any other, but only from a trusted server", async () => {
    const args = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=store"];
    const files = ["-keyout", keyFile, "-out", certFile, "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
    spawnSync("openssl", ["req", "-x509", ...args, ...files]);
    const [key, cert] = [readFileSync(keyFile), readFileSync(certFile, "utf8")];
    rmSync(folder, { recursive: true });
    const body = "tls".repeat(200_000);
    const { origin, sockets } = await rawServer((socket) => socket.write(ok(body)), createTlsServer({ key, cert }));
    const into = Buffer.alloc(body.length);
    const untrusted = rawClientWith().send(getRequest(origin), into, undefined);
    await expect(untrusted).rejects.toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    const usual = getCACertificates();
    setDefaultCACertificates([...usual, cert]);
    try {
      const client = rawClientWith();
      for (const host of ["127.0.0.1", "localhost", "localhost"]) {
        const { bytes } = await client.send(getRequest(origin.replace("127.0.0.1", host)), into, undefined);
        expect(bytes.buffer).toBe(into.buffer);
        expect(bytes.toString()).toBe(body);
        into.fill(0);
      }
      expect(sockets).toHaveLength(2);
    } finally {
      setDefaultCACertificates(usual);
    }
  });

  test("has a time limit for its handshake", async () => {
    const silent = await rawServer(() => undefined);
    const reading = getText(rawClientWith({ connectTimeoutMs: 100 }), silent.origin.replace("http:", "https:"));
    await expect(reading).rejects.toMatchObject({ message: "the object store did not respond in time" });
  });
});
