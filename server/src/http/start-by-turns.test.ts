import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import Fastify from "fastify";
import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { errorReply, toFault } from "./error-body.ts";
import { startByTurns } from "./start-by-turns.ts";
import { registerSystemRoutes } from "./system-routes.ts";

const MANY = 100;

/** A server that records the order in which requests reach their handler. */
async function serve(): Promise<{ port: number; begun: string[] }> {
  const begun: string[] = [];
  const server = Fastify();
  const turns = startByTurns(server, { identify: () => undefined });
  server.get("/noted", { config: { operation: "noted" } }, (request, reply) => {
    const token = String(request.headers["x-auth-token"]);
    begun.push(token);
    if (token.startsWith("good")) turns.learn(request, token.slice(0, "good one".length));
    void reply.send({});
  });
  const readiness = {
    noted: async () => {
      begun.push("probe");
      return { ok: true, detail: "" };
    },
  };
  const openApi = (): never => {
    throw new Error("not requested here");
  };
  const guides = { forUsers: () => [], find: () => undefined };
  registerSystemRoutes(server, { readiness, registry: new Registry(), openApi, readingOrder: [], guides }, "svc");
  server.setErrorHandler((error, _request, reply) => {
    const { status, body } = errorReply(toFault(error));
    void reply.code(status).send(body);
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => server.close());
  const { port } = new URL(server.listeningOrigin);
  return { port: Number(port), begun };
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  await once(socket, "connect");
  socket.resume();
  onTestFinished(() => void socket.destroy());
  return socket;
}

const request = (token: string): string => `GET /noted HTTP/1.1\r\nHost: x\r\nX-AUTH-TOKEN: ${token}\r\n\r\n`;

test.each([
  ["with one token", () => "good many"],
  ["with many tokens", (n: number) => `good many ${n % 20}`],
  ["with invented tokens", (n: number) => `bad ${n}`],
])("a user who sends many requests at once %s does not keep another user waiting", async (_how, token) => {
  const { port, begun } = await serve();
  const [many, one] = [await open(port), await open(port)];
  const requests = Array.from({ length: MANY }, (_, n) => request(token(n)));
  for (const each of [request("good one"), ...requests]) {
    const before = begun.length;
    one.write(each);
    await expect.poll(() => begun.length, { interval: 1 }).toBe(before + 1);
  }
  const burst = async (): Promise<void> => {
    begun.length = 0;
    many.write(requests.join(""));
    one.write(request("good one"));
    await expect.poll(() => begun.length).toBe(MANY + 1);
  };
  await burst();
  expect(begun.indexOf("good one")).toBeLessThan(MANY / 2);
  // From now on both count as present.
  await burst();
  expect(begun.indexOf("good one")).toBeLessThan(MANY / 10);
});

test("more requests start in one turn of the event loop while only one user is active", async () => {
  const { port, begun } = await serve();
  const most = async (): Promise<number> => {
    const socket = await open(port);
    let inOneTurn = 0;
    let isWatching = true;
    const watch = (before: number): void => {
      inOneTurn = Math.max(inOneTurn, begun.length - before);
      if (isWatching) setImmediate(watch, begun.length);
    };
    const target = begun.length + MANY;
    watch(begun.length);
    socket.write(request("good many").repeat(MANY));
    await expect.poll(() => begun.length).toBe(target);
    isWatching = false;
    return inOneTurn;
  };
  const alone = await most();
  const other = await open(port);
  other.write(request("good one"));
  await expect.poll(() => begun).toContain("good one");
  const beside = await most();
  expect(alone).toBeGreaterThan(beside);
  expect(beside).toBeLessThanOrEqual(4); // two from each of two turns, if the watcher runs between them
});

test("requests of a disconnected client are not started", async () => {
  const { port, begun } = await serve();
  const gone = await open(port);
  gone.write(request("gone").repeat(5 * MANY));
  await expect.poll(() => begun.length, { interval: 1 }).toBeGreaterThan(0);
  gone.resetAndDestroy();
  // Each turn would start some of them.
  for (let turn = 0; turn < 5 * MANY; turn += 1) await nextTurn();
  expect(begun.length).toBeLessThan(5 * MANY);
});

test("beyond a thousand waiting requests further ones are 429, and of the same address only health probes are answered at once", async () => {
  const { port, begun } = await serve();
  const [many, probe, reader] = [await open(port), await open(port), await open(port)];
  let answers = "";
  many.setEncoding("latin1").on("data", (text: string) => (answers += text));
  const page = once(reader, "data");
  many.write(request("many").repeat(1200));
  probe.write("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
  reader.write("GET /docs HTTP/1.1\r\nHost: x\r\n\r\n");
  await expect.poll(() => begun).toContain("probe");
  expect(begun.indexOf("probe")).toBeLessThan(MANY);
  expect(String(await page)).toMatch(/^HTTP\/1\.1 429/);
  const statuses = (): string[] => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status ?? "");
  await expect.poll(() => statuses().length).toBe(1200);
  expect(new Set(statuses())).toEqual(new Set(["200", "429"]));
});
