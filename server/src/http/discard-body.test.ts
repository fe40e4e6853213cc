import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { useServer } from "../../test/support/given.ts";

const given = useServer();

const BODY_BYTES = 8 * 1024 * 1024;
const DISCARDED_PER_ADDRESS = 4;

interface Sending {
  readonly socket: Socket;
  answer: string;
}

function begin(token: string | undefined, lengthHeader: string): Sending {
  const { hostname, port } = new URL(given.base);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const head = ["POST /api/v1.2/commands HTTP/1.1", "Host: x", lengthHeader];
  if (token !== undefined) head.push(`X-AUTH-TOKEN: ${token}`);
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  const sending = { socket, answer: "" };
  socket.on("error", () => undefined); // a failed write is reported to its caller
  socket.on("data", (bytes) => (sending.answer += bytes.toString()));
  return sending;
}

/** Reads the answer only after the whole body is sent, as many clients do. Fails if the connection is closed earlier. */
async function sendAll(token: string | undefined, lengthHeader: string, parts: readonly string[]): Promise<string> {
  const sending = begin(token, lengthHeader);
  const { socket } = sending;
  socket.pause();
  for (const part of parts) {
    await new Promise<void>((resolve, reject) => {
      socket.write(part, (error) => (error instanceof Error ? reject(error) : resolve()));
    });
  }
  socket.resume();
  await once(socket, "close");
  return sending.answer.slice(0, "HTTP/1.1 000".length);
}

describe("a refused body", () => {
  const parts = Array.from({ length: 8 }, () => " ".repeat(BODY_BYTES / 8));
  const chunked = [...parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`), "0\r\n\r\n"];

  test("is read to its end, so that clients that send it completely see the answer", async () => {
    const account = await given.account();
    const outsider = await given.member(account);
    for (const [client, status] of [
      [account, 413],
      [outsider, 403],
      [undefined, 401],
    ] as const) {
      const token = client?.token;
      expect(await sendAll(token, `Content-Length: ${BODY_BYTES}`, parts)).toBe(`HTTP/1.1 ${status}`);
      expect(await sendAll(token, "Transfer-Encoding: chunked", chunked)).toBe(`HTTP/1.1 ${status}`);
      const headers = token === undefined ? undefined : { "X-AUTH-TOKEN": token };
      const init = { method: "POST", body: parts.join(""), ...(headers === undefined ? {} : { headers }) };
      expect((await fetch(`${given.base}/api/v1.2/commands`, init)).status).toBe(status);
    }
  });

  test("is also read from a client that waited to be asked for it, and then lost its patience", async () => {
    const header = `Content-Length: ${BODY_BYTES}\r\nExpect: 100-continue`;
    expect(await sendAll(undefined, header, parts)).toBe("HTTP/1.1 401");
  });

  test("is read with pauses", async () => {
    const account = await given.account();
    const began = performance.now();
    await sendAll(account.token, `Content-Length: ${BODY_BYTES}`, parts);
    expect(performance.now() - began).toBeGreaterThan(200); // 128 pieces with pauses of 10 ms; about 50 ms without
  });

  test("is not read beyond 64 MiB", async () => {
    const account = await given.account();
    const tenTimes = Array.from({ length: 10 }, () => parts).flat();
    const sent = sendAll(account.token, `Content-Length: ${10 * BODY_BYTES}`, tenTimes);
    await expect(sent).rejects.toMatchObject({ syscall: "write" });
  });

  test("is read on a few connections of an address at a time; others are answered and closed", async () => {
    const account = await given.account();
    const header = `Content-Length: ${BODY_BYTES}`;
    const many = Array.from({ length: DISCARDED_PER_ADDRESS + 2 }, () => begin(account.token, header));
    const isClosed = ({ socket }: Sending): boolean => socket.readableEnded;
    await expect.poll(() => many.filter(isClosed).length).toBe(2);
    expect(many.every(({ answer }) => answer.startsWith("HTTP/1.1 413 "))).toBe(true);
  });
});
