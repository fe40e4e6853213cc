import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startCutOffProxy, type CutOffProxy } from "./cut-off-proxy.ts";

/** Long enough for everything that loopback delivers. */
const QUIET_MS = 300;
const host = "127.0.0.1";
let echo: Server;
let proxy: CutOffProxy;

beforeAll(async () => {
  echo = createServer((socket) => socket.on("error", () => undefined).pipe(socket)).listen(0, host);
  await once(echo, "listening");
});
afterAll(() => void echo.close());
beforeEach(async () => {
  proxy = await startCutOffProxy({ host, port: (echo.address() as AddressInfo).port }); // it listens on a port
});
afterEach(() => proxy.close());

const open = (): Socket => connect({ host, port: proxy.port }).on("error", () => undefined);

/** Undefined: none of the events happened within the time. */
function firstOf(socket: Socket, ...events: string[]): Promise<string | undefined> {
  const signal = AbortSignal.timeout(QUIET_MS);
  return Promise.race(events.map((event) => once(socket, event, { signal }).then(() => event))).catch(() => undefined);
}

test("a cut drops what is sent and the handshakes of new connections, without an error", async () => {
  const old = open();
  old.write("before");
  expect(String(await once(old, "data"))).toBe("before");
  await proxy.cut();
  old.write("during");
  const young = open();
  young.write("new");
  expect(await Promise.all([old, young].map((each) => firstOf(each, "connect", "data", "close", "error")))).toEqual([
    undefined,
    undefined,
  ]);
  expect([old.destroyed, young.connecting]).toEqual([false, true]);
  const later = Promise.all([once(old, "data"), once(young, "data")]);
  await proxy.heal("arrives");
  expect(String(await later)).toBe("during,new");
  for (const socket of [old, young]) socket.destroy();
});

test("a cut can break the open connections, and new ones never get past their handshake", async () => {
  const old = open();
  old.write("before");
  await once(old, "data");
  const closed = once(old, "close");
  await proxy.cut("break");
  await closed;
  expect(await firstOf(open(), "connect", "close", "error")).toBeUndefined();
});

test("in a one-way loss, what is sent arrives and the answers do not, until it is healed", async () => {
  const arrived: Buffer[] = [];
  echo.once("connection", (socket: Socket) => socket.on("data", (bytes: Buffer) => arrived.push(bytes)));
  const old = open();
  old.write("before");
  expect(String(await once(old, "data"))).toBe("before");
  await proxy.loseAnswers();
  old.write("during");
  await expect.poll(() => String(arrived)).toBe("before,during");
  const young = open();
  young.write("new");
  expect(await Promise.all([old, young].map((each) => firstOf(each, "data", "close", "error")))).toEqual([
    undefined,
    undefined,
  ]);
  const later = Promise.all([once(old, "data"), once(young, "data")]);
  await proxy.heal("arrives");
  expect(String(await later)).toBe("during,new");
  for (const socket of [old, young]) socket.destroy();
});

test("after a cut, open connections can break or stay silent, and new ones work", async () => {
  const lost = open();
  lost.write("before");
  await once(lost, "data");
  await proxy.cut();
  await proxy.heal("is lost");
  lost.write("after");
  const broken = open();
  broken.write("after");
  expect(String(await once(broken, "data"))).toBe("after");
  expect(await firstOf(lost, "data", "close")).toBeUndefined();
  await proxy.cut();
  const closed = once(broken, "close");
  await proxy.heal("breaks");
  await closed;
  expect(lost.destroyed).toBe(false);
  lost.destroy();
});
