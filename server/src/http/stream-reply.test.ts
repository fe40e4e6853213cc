import { connect, type AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { endingSignals } from "./register-routes.ts";
import { StreamReply, streamOf } from "./stream-reply.ts";

const STALL_LIMIT_MS = 300;

let server: FastifyInstance;
let port: number;
let pieces = 0;
let isReleased = false;
let wasEnded = false;

/** Endless, until the reader closes it. */
async function* endless(): AsyncGenerator<Buffer> {
  try {
    for (;;) {
      pieces += 1;
      yield await Promise.resolve(Buffer.alloc(64 * 1024));
    }
  } finally {
    isReleased = true;
  }
}

/** Sends nothing for longer than a client may take for a piece. */
async function* late(): AsyncGenerator<string> {
  yield "first";
  await delay(2 * STALL_LIMIT_MS);
  yield "last";
}

async function* quiet(ending: AbortSignal): AsyncGenerator<string> {
  yield "first";
  await new Promise((resolve) => ending.addEventListener("abort", resolve));
  wasEnded = true;
  yield "last";
}

beforeEach(async () => {
  pieces = 0;
  isReleased = false;
  wasEnded = false;
  server = Fastify({ forceCloseConnections: "idle" });
  const endingSignal = endingSignals(server);
  server.get("/endless", (_request, reply) =>
    reply.send(streamOf(new StreamReply("application/octet-stream", endless()), reply, STALL_LIMIT_MS)),
  );
  server.get("/late", (_request, reply) =>
    reply.send(streamOf(new StreamReply("text/plain", late()), reply, STALL_LIMIT_MS)),
  );
  server.get("/quiet", (_request, reply) =>
    reply.send(streamOf(new StreamReply("text/plain", quiet(endingSignal(reply))), reply)),
  );
  await server.listen({ host: "127.0.0.1", port: 0 });
  // It listens on TCP (see above).
  port = (server.server.address() as AddressInfo).port;
});
afterEach(async () => {
  await server.close();
});

describe("a streamed reply", () => {
  test("is read no faster than the client takes it, and closed if the client reads nothing", async () => {
    const socket = connect(port, "127.0.0.1", () => socket.write("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n"));
    socket.pause();
    await expect.poll(() => isReleased).toBe(true);
    expect(pieces).toBeLessThan(1000);
    socket.destroy();
  });

  test("is closed if the client reads nothing, even if it sends something", async () => {
    const requests = "GET /endless HTTP/1.1\r\nHost: x\r\n\r\nGET /late HTTP/1.1\r\nHost: x";
    const socket = connect(port, "127.0.0.1", () => socket.write(requests));
    socket.pause();
    socket.on("error", () => undefined);
    const sending = setInterval(() => socket.write("x"), STALL_LIMIT_MS / 10);
    onTestFinished(() => clearInterval(sending));
    await expect.poll(() => isReleased).toBe(true);
    socket.destroy();
  });

  test("may send nothing for a while", async () => {
    expect(await (await fetch(`http://127.0.0.1:${port}/late`)).text()).toBe("firstlast");
  });

  test("is closed when the client disconnects", async () => {
    const socket = connect(port, "127.0.0.1", () => socket.write("GET /quiet HTTP/1.1\r\nHost: x\r\n\r\n"));
    await new Promise((resolve) => socket.once("data", resolve));
    socket.destroy();
    await expect.poll(() => wasEnded).toBe(true);
  });

  test("ends when the server stops, and the stop does not wait for the client", async () => {
    const response = await fetch(`http://127.0.0.1:${port}/quiet`);
    const body = response.text();
    await server.close();
    expect(await body).toBe("firstlast");
  });
});
