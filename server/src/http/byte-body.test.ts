import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { incomingBytes } from "./byte-body.ts";

const LIMIT_MS = 300;

/** Sends a body to `incomingBytes`, and returns its outcome. */
async function outcomeOf(
  send: (write: (bytes: number) => void, end: () => void) => void,
  beforeEnd?: () => Promise<void>,
): Promise<unknown> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const request = httpRequest({ port, host: "127.0.0.1", method: "PUT" });
  request.on("error", () => undefined);
  onTestFinished(() => {
    request.destroy();
    server.close();
  });
  request.flushHeaders();
  const [raw] = (await once(server, "request")) as [IncomingMessage];
  const { stream } = incomingBytes(raw, { idleLimitMs: LIMIT_MS, beforeEnd });
  send(
    (bytes) => void request.write(Buffer.alloc(bytes)),
    () => void request.end(),
  );
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) bytes += chunk.length;
    return bytes;
  } catch (error) {
    return error;
  }
}

const TOO_SLOW = { code: "request-timeout", publicMessage: expect.stringContaining("1 KiB per second") };

test("a body that stops arriving ends with 408", async () => {
  expect(await outcomeOf((write) => write(1000))).toMatchObject(TOO_SLOW);
});

test("a body that arrives at less than 1 KiB a second ends with 408, although it never stops", async () => {
  let timer: NodeJS.Timeout | undefined;
  const outcome = outcomeOf((write) => (timer = setInterval(() => write(1), LIMIT_MS / 6)));
  expect(await outcome).toMatchObject(TOO_SLOW);
  clearInterval(timer);
});

test("a slow body that is fast enough arrives", async () => {
  const outcome = outcomeOf((write, end) => {
    let left = 12;
    const timer = setInterval(() => {
      write(1024);
      left -= 1;
      if (left > 0) return;
      clearInterval(timer);
      end();
    }, LIMIT_MS / 6);
  });
  expect(await outcome).toBe(12 * 1024);
});

test("a body does not end if its client has lost access meanwhile", async () => {
  const refusal = new Error("no access");
  const send = (write: (bytes: number) => void, end: () => void): void => {
    write(1);
    end();
  };
  expect(await outcomeOf(send, () => Promise.reject(refusal))).toBe(refusal);
  expect(await outcomeOf(send, async () => undefined)).toBe(1);
});
