/**
 * A name that resolves to an allowed address when it is checked, and to a forbidden one when it is used. `node:dns` is
 * scripted; the connections are real. The clients are those that connect to addresses of users.
 */
import dns from "node:dns";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DEFAULT_AGENT_LIMITS, guardedAgent } from "../src/object-store/guarded-agent.ts";
import { hdfsStore } from "../src/object-store/hdfs/hdfs-store.ts";
import { sendBody } from "../src/object-store/hdfs/send-body.ts";
import { RawClient } from "../src/object-store/s3/raw-client.ts";
import { Connection } from "../src/engines/hive-thrift/connection.ts";
import { addressRefusal } from "../src/lib/network-policy.ts";

const ALLOWED = "127.0.0.2";
const FORBIDDEN = "127.0.0.1";
const NAME = "moving.test";

/** The answers of DNS, in this order; the last one stays. */
const answers: string[][] = [];
const { lookup } = dns;

/** Also for modules that other test files of this process have loaded. */
function replaceLookup(next: typeof lookup): void {
  dns.lookup = next;
  syncBuiltinESMExports();
}

const scripted: typeof lookup = ((...args: Parameters<typeof lookup>) => {
  const [name, , done] = args as unknown as [string, object, (error: null, addresses: object[]) => void];
  if (name !== NAME) return lookup(...args);
  const [now = []] = answers.length > 1 ? answers.splice(0, 1) : answers;
  const addresses = now.map((address) => ({ address, family: 4 }));
  setImmediate(() => done(null, addresses));
}) as typeof lookup; // without the form for promises

const checkAddress = (address: string): string | null => addressRefusal(address, [`${ALLOWED}/32`]) ?? null;
let servers: Server[] = [];
let port = 0;
let reachedForbidden = 0;

beforeAll(async () => {
  replaceLookup(scripted);
  const serve = (): Server =>
    createServer({ keepAliveTimeout: 1 }, (request, response) => {
      const status = { FileStatus: { pathSuffix: "", type: "FILE", length: 1, modificationTime: 1 } };
      const redirect = { location: `http://${NAME}:${port}/webhdfs/v1/f?step=2` };
      const isFirst = request.url?.includes("op=OPEN") === true;
      request.resume().once("end", () => {
        if (isFirst) response.writeHead(307, { ...redirect, connection: "close" }).end();
        else response.writeHead(200, { connection: "close" }).end(JSON.stringify(status));
      });
    });
  servers = [serve(), serve()];
  const [allowed, forbidden] = servers;
  if (allowed === undefined || forbidden === undefined) throw new Error("there are two servers");
  await once(allowed.listen(0, ALLOWED), "listening");
  port = (allowed.address() as AddressInfo).port; // it listens on TCP
  await once(forbidden.listen(port, FORBIDDEN), "listening");
  forbidden.on("connection", () => (reachedForbidden += 1));
});
afterAll(() => {
  replaceLookup(lookup);
  for (const server of servers) server.close();
});
beforeEach(() => {
  reachedForbidden = 0;
});

const origin = (): string => `http://${NAME}:${port}`;

const clients: readonly [what: string, connect: () => Promise<unknown>][] = [
  [
    "a request to S3 or HDFS",
    async () => {
      const agent = guardedAgent(checkAddress, DEFAULT_AGENT_LIMITS);
      try {
        const { body } = await agent.dispatcher.request({ origin: origin(), path: "/", method: "GET" });
        await body.dump();
      } finally {
        await agent.close();
      }
    },
  ],
  [
    "a small request to S3",
    async () => {
      const client = new RawClient({ ...DEFAULT_AGENT_LIMITS, checkAddress });
      const request = { method: "GET", origin: origin(), path: "/", headers: { host: NAME }, body: null } as const;
      await client.send(request, 1000, undefined).finally(() => client.close());
    },
  ],
  [
    "a file sent to a DataNode",
    () => sendBody(new URL(origin()), Buffer.from("x"), { checkAddress, idleTimeoutMs: 5000 }),
  ],
  [
    "a connection to a metastore",
    async () => (await Connection.open({ host: NAME, port, checkAddress }, AbortSignal.timeout(5000))).destroy(),
  ],
];

describe("a name whose address moves", () => {
  test.each(clients)("is checked again for each connection: %s", async (_what, connect) => {
    answers.splice(0, Infinity, [ALLOWED], [FORBIDDEN]);
    await connect();
    await expect(connect()).rejects.toThrow(/must not be in a loopback, private or reserved network/);
    expect(reachedForbidden).toBe(0);
  });

  test.each(clients)("is refused if one of its addresses is forbidden: %s", async (_what, connect) => {
    answers.splice(0, Infinity, [ALLOWED, FORBIDDEN]);
    await expect(connect()).rejects.toThrow(/must not be in a loopback, private or reserved network/);
    answers.splice(0, Infinity, [ALLOWED, "169.254.169.254"]);
    await expect(connect()).rejects.toThrow(/must not be a link-local, metadata or other special address/);
    expect(reachedForbidden).toBe(0);
  });

  test("is checked again between a NameNode and the DataNode that it redirects to", async () => {
    const store = hdfsStore({ address: origin(), user: "us", checkAddress, retries: 0 });
    try {
      answers.splice(0, Infinity, [ALLOWED]);
      await (await store.get("hdfs:///f")).body.toArray();
      answers.splice(0, Infinity, [ALLOWED], [ALLOWED], [FORBIDDEN]);
      await expect(store.get("hdfs:///f")).rejects.toMatchObject({ kind: "refused-address" });
      expect(reachedForbidden).toBe(0);
    } finally {
      await store.close();
    }
  });
});
