import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { Client, Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { Fault } from "../lib/fault.ts";
import { isConnectionLost, isStoreUnavailable, storeFault } from "./store-fault.ts";

/** A PostgreSQL that accepts connections and never answers. */
async function silentServer(): Promise<{ host: string; port: number; connectionTimeoutMillis: number }> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo; // it listens on a port
  return { host: "127.0.0.1", port, connectionTimeoutMillis: 50 };
}

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

test("a PostgreSQL that accepts a connection and does not answer is unavailable", async () => {
  const settings = await silentServer();
  const client = new Client(settings);
  client.on("error", () => undefined);
  const pool = new Pool(settings);
  for (const error of [await errorOf(client.connect()), await errorOf(pool.query("select 1"))]) {
    expect(error).toBeInstanceOf(Error);
    expect(isStoreUnavailable(error)).toBe(true);
    expect(storeFault(error)).toBeInstanceOf(Fault);
  }
});

test("a refused statement says nothing about PostgreSQL, even if its message quotes a text about a lost connection", () => {
  const quoted = 'invalid input syntax for type integer: "connection terminated unexpectedly"';
  const error = Object.assign(new Error(quoted), { code: "22P02" });
  expect([isStoreUnavailable(error), isConnectionLost(error)]).toEqual([false, false]);
});

test("errors of the program are passed through", () => {
  const error = new TypeError("x is undefined");
  expect(storeFault(error)).toBe(error);
});
