import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { serverOf } from "../../test/support/echo-server.ts";
import { useServer, type AccountClient, type Given } from "../../test/support/given.ts";
import { sendAs } from "../../test/support/raw-request.ts";
import { sanitiseProxyHeaders } from "./trusted-proxies.ts";

const folder = mkdtempSync(join(tmpdir(), "headgate-proxy-"));
afterAll(() => rmSync(folder, { recursive: true }));

const SECRET = "kT4vYx0q9ZbR2nWc7LmE5sHd8JpA1fUg";
const secretFile = join(folder, "secret");
writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o600 });

/** A listed proxy on another machine. */
const OTHER_PROXY = "192.0.2.80";
const LOOPBACK = { HEADGATE_TRUSTED_PROXIES: `127.0.0.0/8,::1,${OTHER_PROXY}` };
const proving = useServer({ settings: { ...LOOPBACK, HEADGATE_PROXY_SECRET_FILE: secretFile } });
const proxySocket = join(folder, "proxy.sock");
const withSocket = useServer({ settings: { ...LOOPBACK, HEADGATE_PROXY_SOCKET: proxySocket } });

const CLIENT = "203.0.113.7";

/** What the server takes for the caller's address: the whitelist decides by it, and the audit log shows it. */
async function addressSeenBy(
  server: Given,
  account: AccountClient,
  headers: Record<string, string>,
  socketPath?: string,
): Promise<string> {
  const peer = socketPath === undefined ? {} : { socketPath };
  const body = JSON.stringify({ ip_cidr: "192.0.2.1" });
  const path = "/api/v1.2/whitelist_ip";
  const reply = await sendAs(server.base, account, { ...peer, method: "POST", path, headers, body });
  expect(reply.status, reply.text).toBe(200);
  const { audit_events: events } = await auditEvents(server, account);
  return events.find(({ request_id: id }) => id === reply.headers.get("x-request-id"))?.address ?? "none";
}

async function auditEvents(server: Given, account: AccountClient) {
  const reply = await sendAs(server.base, account, { path: "/api/v2/audit_events" });
  return reply.body as { audit_events: { request_id: string; address: string }[] };
}

async function whitelistOnly(server: Given, account: AccountClient, cidr: string): Promise<void> {
  await account.post("/whitelist_ip", { ip_cidr: cidr });
  await server.app.services.db.asSystem((tx) =>
    tx.query("update account set features = '{ip_whitelisting}' where id = $1", [account.accountId]),
  );
}

const status = async (
  server: Given,
  account: AccountClient,
  headers: Record<string, string>,
  socketPath?: string,
): Promise<number> => {
  const peer = socketPath === undefined ? {} : { socketPath };
  return (await sendAs(server.base, account, { ...peer, path: "/api/v1.2/account", headers })).status;
};

const FORGED = { "X-Forwarded-For": CLIENT };
const WITHOUT_PROOF: readonly (readonly [string, Record<string, string>])[] = [
  ["no secret", {}],
  ["an empty secret", { "X-Headgate-Proxy": "" }],
  ["a wrong secret", { "X-Headgate-Proxy": `${SECRET.slice(1)}X` }],
  ["a part of the secret", { "X-Headgate-Proxy": SECRET.slice(1) }],
  ["the secret twice", { "X-Headgate-Proxy": `${SECRET}, ${SECRET}` }],
  ["the form of a node's proof", { "X-Headgate-Proxy": `node 1 ${"A".repeat(43)}` }],
  ["a proof by an unknown key", { "X-Headgate-Proxy": `node 999 ${"A".repeat(43)}` }],
];

describe("a program on this machine", () => {
  test("cannot forge an address without the secret", async () => {
    const account = await proving.account();
    for (const [what, headers] of WITHOUT_PROOF) {
      expect(await addressSeenBy(proving, account, { ...FORGED, ...headers }), what).toBe("127.0.0.1");
    }
    await whitelistOnly(proving, account, CLIENT);
    for (const [what, headers] of WITHOUT_PROOF) {
      expect(await status(proving, account, { ...FORGED, ...headers }), what).toBe(403);
    }
  });

  test("cannot forge an address over TCP if the proxy has a Unix socket", async () => {
    const account = await withSocket.account();
    expect(await addressSeenBy(withSocket, account, FORGED)).toBe("127.0.0.1");
    expect(await addressSeenBy(withSocket, account, { ...FORGED, "X-Headgate-Proxy": SECRET })).toBe("127.0.0.1");
  });

  test.each(["127.0.0.1", "::1", "::ffff:127.0.0.1"])(
    "cannot forge an address through the local proxy, which appends %s",
    async (appended) => {
      const headers = { "X-Forwarded-For": `${CLIENT}, ${appended}` };
      const seen = appended.replace("::ffff:", "");
      const account = await proving.account();
      expect(await addressSeenBy(proving, account, { ...headers, "X-Headgate-Proxy": SECRET })).toBe(seen);
      const other = await withSocket.account();
      expect(await addressSeenBy(withSocket, other, headers, proxySocket)).toBe(seen);
    },
  );

  const own = Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).filter(({ internal, family }) => !internal && family === "IPv4").map(({ address }) => address),
  );
  test.skipIf(own[0] === undefined)("is no proxy either if it connects from another address of it", async () => {
    const [host = ""] = own;
    const server = createServer((request, response) => response.end(JSON.stringify(request.headers)));
    sanitiseProxyHeaders(server, { networks: ["0.0.0.0/0"], secret: null, isNodeProof: () => false });
    await once(server.listen(0, host), "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo; // it listens on TCP
    const reply = await sendAs(`http://${host}:${port}`, undefined, { path: "/", headers: FORGED });
    expect(JSON.parse(reply.text)).not.toHaveProperty("x-forwarded-for");
  });
});

describe("a proxy that proves itself", () => {
  test("by the secret forwards the address of its client", async () => {
    const account = await proving.account();
    const headers = { ...FORGED, "X-Headgate-Proxy": SECRET };
    expect(await addressSeenBy(proving, account, headers)).toBe(CLIENT);
    await whitelistOnly(proving, account, CLIENT);
    expect(await status(proving, account, headers)).toBe(200);
    const others = { ...headers, "X-Forwarded-For": `${CLIENT}, 198.51.100.7` };
    expect(await status(proving, account, others), "the client's own header is not trusted").toBe(403);
    const chain = { ...headers, "X-Forwarded-For": `${CLIENT}, ${OTHER_PROXY}` };
    expect(await status(proving, account, chain), "a chain of listed proxies").toBe(200);
  });

  test("by its Unix socket forwards the address of its client", async () => {
    const account = await withSocket.account();
    expect(await addressSeenBy(withSocket, account, FORGED, proxySocket)).toBe(CLIENT);
    await whitelistOnly(withSocket, account, CLIENT);
    expect(await status(withSocket, account, FORGED, proxySocket)).toBe(200);
    expect(await status(withSocket, account, { "X-Forwarded-For": "198.51.100.7" }, proxySocket)).toBe(403);
  });

  test("by its Unix socket must forward an address", async () => {
    const account = await withSocket.account();
    for (const headers of [undefined, "", " ", ",", " , ,"].map((text) =>
      text === undefined ? {} : { "X-Forwarded-For": text },
    )) {
      const reply = await sendAs(withSocket.base, account, {
        path: "/api/v1.2/account",
        socketPath: proxySocket,
        headers,
      });
      expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("Your address cannot be read")]);
    }
  });
});

test("the secret reaches neither handlers nor the log", async () => {
  const logged: string[] = [];
  const write = (line: string): void => void logged.push(line);
  const server = await serverOf([], pino({ level: "trace" }, { write }));
  onTestFinished(() => server.close());
  const seen: IncomingMessage[] = [];
  server.server.on("request", (request) => seen.push(request));
  const base = await server.listen({ port: 0, host: "127.0.0.1" });
  for (const path of ["/healthz", "/api/v1.2/nothing"]) {
    await sendAs(base, undefined, { path, headers: { "x-HEADGATE-proxy": SECRET } });
  }
  const shown = seen.flatMap(({ rawHeaders, headers, headersDistinct }) => [rawHeaders, headers, headersDistinct]);
  expect(shown).toHaveLength(6);
  expect(JSON.stringify(shown)).toMatch(/host/i);
  expect(JSON.stringify(shown)).not.toContain(SECRET);
  expect(seen[0]?.headers).not.toHaveProperty("x-headgate-proxy");
  await expect.poll(() => logged).toHaveLength(2);
  expect(logged.join()).not.toContain(SECRET);
});
