import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { pino } from "pino";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { expectErrorForm } from "../../test/support/client.ts";
import { openEndpoint, serverOf } from "../../test/support/echo-server.ts";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { rawSocket } from "../../test/support/raw-request.ts";

const given = useServer();

const sink = openEndpoint({
  id: "sink",
  summary: "Take a body",
  tag: "Sink",
  method: "PUT",
  paths: { "v1.2": "/sink" },
  access: null,
  reply: Type.Unknown(),
  handle: () => Promise.resolve({}),
});

function post(account: AccountClient, length: number, body: string): string {
  return [
    "POST /api/v1.2/whitelist_ip HTTP/1.1",
    "Host: x",
    `X-AUTH-TOKEN: ${account.token}`,
    `Content-Length: ${length}`,
    "",
    body,
  ].join("\r\n");
}

async function open(base: string, bytes: string, allowHalfOpen = false): Promise<Socket> {
  const { hostname, port } = new URL(base);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen });
  await once(socket, "connect");
  socket.write(bytes);
  return socket;
}

/** A server, with its side of the first connection. */
async function listening(write: (line: string) => void = () => undefined) {
  const server = await serverOf([sink], pino({ level: "warn" }, { write }));
  const accepted = once(server.server, "connection").then(([socket]) => socket as Socket);
  return { server, base: await server.listen({ host: "127.0.0.1", port: 0 }), accepted };
}

describe("a request that Node itself would refuse without a body", () => {
  test("is 400 in the common error format if it is HTTP/1.1 without Host", async () => {
    const reply = await rawSocket(given.base, "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n");
    expect(reply.status).toBe(400);
    expectErrorForm(reply);
    expect(reply.headers.get("x-request-id")).toMatch(/^[\w-]{36}$/);
  });

  test("is accepted without Host if it is HTTP/1.0", async () => {
    expect((await rawSocket(given.base, "GET /healthz HTTP/1.0\r\n\r\n")).status).toBe(200);
  });

  test("is accepted if its expectation is unknown", async () => {
    const bytes = "GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n";
    const reply = await rawSocket(given.base, bytes);
    expect(reply).toMatchObject({ status: 200, body: { status: "ok" } });
  });
});

describe("a connection", () => {
  test("with broken bytes after a valid request still answers that request, then closes", async () => {
    const account = await given.account();
    const body = '{"ip_cidr":"10.0.0.1"}';
    const reply = await rawSocket(given.base, `${post(account, body.length, body)}GARBAGE\r\n\r\n`);
    expect(reply).toMatchObject({ status: 200, body: { status: { status_code: 200 } } });
    expect(reply.headers.get("connection")).toBe("close");
  });

  test("that is refused is closed even if the client never closes its side", async () => {
    const { server, base, accepted } = await listening();
    const client = await open(base, "GARBAGE\r\n\r\n", true);
    const connection = await accepted;
    await once(connection, "close");
    client.destroy();
    await server.close();
  });

  test("that breaks in the middle of a body is not logged as a failure of the server", async () => {
    const lines: string[] = [];
    const { server, base, accepted } = await listening((line) => lines.push(line));
    const bytes = 'PUT /api/v1.2/sink HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{"a":';
    const client = await open(base, bytes);
    const connection = await accepted;
    await expect.poll(() => connection.bytesRead).toBe(bytes.length);
    client.destroy();
    await once(connection, "close");
    await server.close();
    expect(lines).toEqual([]);
  });
});
