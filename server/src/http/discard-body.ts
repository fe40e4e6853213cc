import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { awaitsContinue } from "./expect-continue.ts";
import { whenFinished } from "./when-finished.ts";
import type { RequestSlots } from "./request-slots.ts";

/** A body up to this size is read to its end by Node, and the connection can be reused. */
const MAX_REUSED_BYTES = 1024 * 1024;
/**
 * A larger one is dropped for this long and up to this size, which is twice the largest that an operation accepts. The
 * time is shorter than a stop of the server waits for its connections.
 */
const DISCARD_LIMIT_MS = 15_000;
const DISCARD_LIMIT_BYTES = 64 * 1024 * 1024;
/** A reply that fails before its first byte has set them already. */
const CONTENT_HEADERS = ["Accept-Ranges", "Content-Disposition", "Content-Length", "ETag", "Last-Modified"];
/** How much is read between two pauses. Bodies that are read at full speed would delay all other requests. */
const PIECE_BYTES = 64 * 1024;
const PAUSE_MS = 10;

/**
 * Sends the text of a refusal. If most of the body has not been read, it is dropped afterwards, and then the connection
 * is closed. Many clients read the response only after they have sent the whole body: closing the connection earlier
 * would break their sending, and they would never see the response.
 */
export function sendRefusal(
  text: string,
  { raw, ip }: FastifyRequest,
  reply: FastifyReply,
  slots: RequestSlots,
): FastifyReply {
  for (const name of CONTENT_HEADERS) reply.removeHeader(name);
  if (reply.statusCode !== 416) reply.removeHeader("Content-Range");
  // Such a client may lose its patience and send the body.
  if (awaitsContinue(raw)) reply.header("Connection", "close");
  if (!hasLargeUnreadBody(raw)) return reply.send(text);
  reply.headers({ Connection: "close", "Content-Length": Buffer.byteLength(text) });
  const release = slots.take("discard", [`address ${ip}`]);
  if (release === undefined) return reply.send(text);
  whenFinished(raw, reply.raw, release);
  const parts = async function* (): AsyncGenerator<string> {
    yield text;
    await discardBody(raw);
  };
  return reply.send(Readable.from(parts()));
}

function hasLargeUnreadBody({ complete, headers }: IncomingMessage): boolean {
  const { "content-length": length = 0, "transfer-encoding": coding } = headers;
  return !complete && (coding !== undefined || Number(length) > MAX_REUSED_BYTES);
}

function discardBody(request: IncomingMessage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let received = 0;
  let pauseAt = PIECE_BYTES;
  let pause: NodeJS.Timeout | undefined;
  const take = (chunk: Buffer): void => {
    received += chunk.length;
    if (received > DISCARD_LIMIT_BYTES) resolve();
    if (received < pauseAt) return;
    pauseAt = received + PIECE_BYTES;
    request.pause();
    pause = setTimeout(() => request.resume(), PAUSE_MS);
  };
  const timer = setTimeout(resolve, DISCARD_LIMIT_MS);
  const over = (): void => resolve();
  request.on("data", take).on("end", over).on("error", over).on("close", over);
  request.resume();
  if (request.destroyed) resolve();
  return promise.finally(() => {
    clearTimeout(timer);
    clearTimeout(pause);
    request.off("data", take).pause();
  });
}
