import { readFileSync } from "node:fs";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { Readable, Writable } from "node:stream";

const PIECE = Buffer.alloc(1024 * 1024, "headgate");

/** Sends so many bytes, or receives them; returns MB per second. */
export async function transfer(
  direction: "upload" | "download",
  url: string,
  bytes: number,
  token: string | undefined,
): Promise<number> {
  const began = performance.now();
  const isUpload = direction === "upload";
  const request = httpRequest(url, {
    method: isUpload ? "PUT" : "GET",
    agent: new Agent(),
    headers: {
      ...(token === undefined ? {} : { "X-AUTH-TOKEN": token }),
      ...(isUpload ? { "Content-Length": String(bytes) } : {}),
    },
  });
  const answered = once(request, "response") as Promise<[IncomingMessage]>;
  if (isUpload) await pipeline(Readable.from(pieces(bytes), { objectMode: false }), request);
  else request.end();
  const [response] = await answered;
  let received = 0;
  const count = new Writable({
    write(chunk: Buffer, _encoding, done) {
      received += chunk.length;
      done();
    },
  });
  await pipeline(response, count);
  if (response.statusCode !== 200) throw new Error(`${direction}: status ${response.statusCode}`);
  if (!isUpload && received !== bytes) throw new Error(`${direction}: ${received} bytes instead of ${bytes}`);
  return bytes / 1000 / (performance.now() - began);
}

function* pieces(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= PIECE.length) yield left < PIECE.length ? PIECE.subarray(0, left) : PIECE;
}

/** Samples the resident memory of a process while `work` runs; returns how many MB it grew at most. */
export async function memoryGrowth(pid: number, work: () => Promise<unknown>): Promise<number> {
  const resident = (): number =>
    Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  const before = resident();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, resident())), 20);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return (Math.max(most, resident()) - before) / 1e6;
}
