import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, createServer, IncomingMessage, ServerResponse } from "node:http";
import { connect, Socket, type NetConnectOpts } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, onTestFinished, test } from "vitest";
import { useServer, type Given } from "../../test/support/given.ts";
import { sendAs } from "../../test/support/raw-request.ts";
import { limitConnections } from "./limit-connections.ts";

const MAX_CONNECTIONS = 50;
const given = useServer({ settings: { HEADGATE_CONNECTIONS: String(MAX_CONNECTIONS) } });
const proxyFolder = mkdtempSync(join(tmpdir(), "headgate-proxy-"));
const proxySocket = join(proxyFolder, "proxy.sock");
const proxied = useServer({ settings: { HEADGATE_CONNECTIONS: "10", HEADGATE_PROXY_SOCKET: proxySocket } });
afterAll(() => rmSync(proxyFolder, { recursive: true }));

let sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
});

const HALF_HEADERS = "GET /api/v1.2/account HTTP/1.1\r\nX-Slow: ";
const NO_BODY = "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n";

/** Connections that never complete a request: silent ones, and some that send the beginning of one. */
async function flood(
  server: Given,
  count: number,
  beginning = HALF_HEADERS,
  peer: NetConnectOpts = peerOf(server),
): Promise<void> {
  const opened = Array.from({ length: count }, async (_, index) => {
    const socket = connect(peer);
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.resume();
    await Promise.race([once(socket, "connect"), once(socket, "close")]);
    if (index % 2 === 0) socket.write(beginning);
  });
  await Promise.all(opened);
}

function peerOf(server: Given): NetConnectOpts {
  const { hostname, port } = new URL(server.base);
  return { host: hostname, port: Number(port) };
}

const stillOpen = (): number =>
  sockets.filter(({ destroyed, readyState }) => !destroyed && readyState === "open").length;

describe("idle connections without a token", () => {
  test("are closed at the limit, oldest first, while authenticated clients are served and keep theirs", async () => {
    const account = await given.account();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number>();
    const ask = () => sendAs(given.base, account, { path: "/api/v1.2/account", agent });
    agent.on("free", (socket: Socket) => ports.add(socket.localPort ?? 0));
    expect((await ask()).status).toBe(200);
    await flood(given, 300);
    await expect.poll(stillOpen).toBeLessThan(MAX_CONNECTIONS);
    expect(sockets.at(0)?.destroyed).toBe(true);
    expect((await ask()).status).toBe(200);
    expect(ports.size).toBe(1); // on the same connection as before
    await account.get("/account"); // on a new one
    agent.destroy();
  });

  test("are also closed if they have sent headers but not the body", async () => {
    const account = await given.account();
    await account.get("/account");
    await flood(given, MAX_CONNECTIONS - 10, NO_BODY);
    await account.get("/account"); // once this is answered, the server has read their headers
    await flood(given, MAX_CONNECTIONS, NO_BODY);
    await expect.poll(() => sockets.at(0)?.destroyed).toBe(true);
    await account.get("/account");
  });
});

describe("a connection with several requests at the same time", () => {
  test("is not replaced while one of them is being handled", async () => {
    const server = createServer();
    onTestFinished(() => void server.close());
    const connections = limitConnections(server, 1);
    const [first, second] = [new Socket(), new Socket()];
    server.emit("connection", first);
    for (let n = 0; n < 2; n += 1) {
      const request = new IncomingMessage(first);
      server.emit("request", request, new ServerResponse(request));
    }
    const endings = [connections.beginHandling(first), connections.beginHandling(first)];
    endings[0]?.();
    endings[0]?.();
    server.emit("connection", second);
    expect([first.destroyed, second.destroyed]).toEqual([false, true]);
    endings[1]?.();
    server.emit("connection", new Socket());
    expect(first.destroyed).toBe(true);
  });
});

describe("connections of a trusted proxy", () => {
  test("count", async () => {
    await flood(proxied, 40, HALF_HEADERS, { path: proxySocket });
    await expect.poll(stillOpen).toBeLessThanOrEqual(10);
    await (await proxied.account()).get("/account");
  });
});
