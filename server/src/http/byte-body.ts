/**
 * Bodies that are bytes: they have no limit, and the handler reads them as they arrive. The limit for the time of a
 * whole request does not apply to them; instead, a client must send at least 1 KiB a second, on average over each minute in
 * which the server waits for it.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Readable, type Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";
import { Fault } from "../lib/fault.ts";
import { incompleteRequest } from "./error-body.ts";
import { sendContinue } from "./expect-continue.ts";
import { whenFinished } from "./when-finished.ts";

export interface IncomingBytes {
  /** The header Content-Length; undefined if the body is chunked. */
  readonly length: number | undefined;
  /** Fails if the body ends early. */
  readonly stream: Readable;
}

interface IncomingBytesOptions {
  /** Called with the number of bytes that arrive. May throw a refusal. */
  readonly count?: ((bytes: number) => void) | undefined;
  /** Called when all bytes have arrived, before the stream ends. A rejection is the stream's error. */
  readonly beforeEnd?: (() => Promise<void>) | undefined;
  readonly idleLimitMs?: number | undefined;
}

/** Requests of operations with such a body get this type, which selects their parser. */
export const BYTES_TYPE = "application/octet-stream";

const IDLE_LIMIT_MS = 60_000;
/** Slower clients could hold the slots of all uploads for ever. */
const MIN_BYTES_PER_MS = 1024 / 1000;
const BUFFER_BYTES = 256 * 1024;

const receiving = new WeakSet<Duplex>();

/** Whether the current request on this connection has such a body. */
export function isReceivingBytes(socket: Socket): boolean {
  return receiving.has(socket);
}

export function receiveBytes(server: FastifyInstance): void {
  server.addContentTypeParser(BYTES_TYPE, (request, raw, done) => {
    const { socket } = raw;
    receiving.add(socket);
    whenFinished(raw, request.rawReply, () => receiving.delete(socket));
    done(null, undefined);
  });
}

/**
 * The body as a stream that can be destroyed without closing the connection, so that a refusal can still be sent. It is
 * read no faster than the stream is.
 */
export function incomingBytes(
  raw: IncomingMessage,
  {
    count = () => undefined,
    beforeEnd = async () => undefined,
    idleLimitMs = IDLE_LIMIT_MS,
  }: IncomingBytesOptions = {},
): IncomingBytes {
  const { "content-length": length } = raw.headers;
  const speed = new SpeedCheck(idleLimitMs);
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    speed.wait();
    clearTimeout(timer);
    timer = setTimeout(() => stream.destroy(tooSlow()), idleLimitMs);
  };
  const leave = (): void => {
    clearTimeout(timer);
    raw.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose);
    raw.pause();
  };
  const stream = new Readable({
    highWaterMark: BUFFER_BYTES,
    read() {
      sendContinue(raw);
      wait();
      raw.resume();
    },
    destroy(error, callback) {
      leave();
      callback(error);
    },
  });
  const onData = (chunk: Buffer): void => {
    try {
      count(chunk.length);
      if (speed.isTooSlow(chunk.length)) throw tooSlow();
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error("the body was refused", { cause: error }));
      return;
    }
    if (stream.push(chunk)) {
      timer?.refresh();
      return;
    }
    clearTimeout(timer); // the reader of the stream is slow, not the client
    speed.pause();
    raw.pause();
  };
  const onEnd = (): void => {
    clearTimeout(timer);
    if (!raw.complete) {
      stream.destroy(incompleteRequest(undefined));
      return;
    }
    beforeEnd().then(
      () => stream.destroyed || stream.push(null),
      (error: unknown) => stream.destroy(error instanceof Error ? error : new Error("the body was refused")),
    );
  };
  const onError = (error: Error): void => void stream.destroy(incompleteRequest(error));
  const onClose = (): void => {
    if (!raw.complete) stream.destroy(incompleteRequest(undefined));
  };
  stream.on("error", () => undefined); // its reader gets the error, also if it begins to read later
  raw.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  raw.pause();
  if (raw.destroyed) onClose();
  return { length: length === undefined ? undefined : Number(length), stream };
}

function tooSlow(): Fault {
  return new Fault("request-timeout", "The body arrives too slowly: send at least 1 KiB per second.");
}

/** Counts only the time in which the client was waited for. */
class SpeedCheck {
  readonly #windowMs: number;
  #since: number | undefined;
  #waitedMs = 0;
  #bytes = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  wait(): void {
    this.#since ??= performance.now();
  }

  pause(): void {
    this.#since = undefined;
  }

  isTooSlow(bytes: number): boolean {
    const now = performance.now();
    this.#waitedMs += now - (this.#since ?? now);
    this.#since = now;
    this.#bytes += bytes;
    if (this.#waitedMs < this.#windowMs) return false;
    const isTooSlow = this.#bytes < this.#waitedMs * MIN_BYTES_PER_MS;
    this.#waitedMs = 0;
    this.#bytes = 0;
    return isTooSlow;
  }
}
