import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { pipeline, Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { guardedLookup, type CheckAddress } from "../../lib/guarded-lookup.ts";
import { refusedAddress, readLimited } from "../guarded-agent.ts";
import { filePieces } from "../object-body.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import type { ObjectBody } from "../object-store.ts";

interface SendOptions {
  checkAddress: CheckAddress;
  /** Timeout for connecting and for inactivity of the server. */
  idleTimeoutMs: number;
  signal?: AbortSignal | undefined;
}

const answerLimitBytes = 64 * 1024;

/**
 * Sends the bytes of a file to a DataNode on a connection of its own. Does not use undici, which rejects the unsolicited
 * `100 Continue` that DataNodes send.
 */
export async function sendBody(
  url: URL,
  body: Readable | Buffer,
  { checkAddress, idleTimeoutMs, signal }: SendOptions,
): Promise<{ statusCode: number; text: string }> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const refusal = isIP(host) === 0 ? null : checkAddress(host);
  if (refusal !== null) throw refusedAddress(refusal);
  const length = Buffer.isBuffer(body) ? { "content-length": String(body.length) } : {};
  const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
    method: "PUT",
    agent: false,
    lookup: guardedLookup(checkAddress, refusedAddress),
    headers: { "content-type": "application/octet-stream", ...length },
    ...(signal === undefined ? {} : { signal }),
  });
  const answered = Promise.withResolvers<IncomingMessage>();
  request.once("response", answered.resolve);
  request.on("error", answered.reject);
  endIfInactive(request, idleTimeoutMs);
  if (Buffer.isBuffer(body)) request.end(body);
  else pipeline(body, request, (error) => (error === null || error === undefined ? undefined : answered.reject(error)));
  const response = await answered.promise;
  try {
    const { statusCode = 0 } = response;
    if (statusCode < 300 && !(await isSent(request))) {
      throw new ObjectStoreError("bad-response", "the server reports success before it has the whole file");
    }
    return { statusCode, text: await readLimited(response, answerLimitBytes) };
  } finally {
    request.destroy();
  }
}

/**
 * Time in which we have nothing to send does not count: the next bytes may wait for memory or for a slow source. The
 * socket's timer starts again with each write.
 */
function endIfInactive(request: ClientRequest, idleTimeoutMs: number): void {
  request.once("socket", (socket) => {
    socket.setTimeout(idleTimeoutMs).on("timeout", () => {
      const hasNothingToSend = !socket.connecting && !request.writableEnded && request.writableLength === 0;
      if (hasNothingToSend) return;
      request.destroy(Object.assign(new Error("the connection is inactive"), { code: "ETIMEDOUT" }));
    });
  });
}

/** Whether the network has taken the whole body. A TLS connection knows that one turn of the event loop later. */
async function isSent(request: ClientRequest): Promise<boolean> {
  if (!request.writableFinished) await nextTurn();
  return request.writableFinished;
}

/** A body that distinguishes its own errors from those of the connection: HTTP clients destroy the body with either. */
export class BodySource {
  readonly body: Readable | Buffer;
  readonly #given: ObjectBody;
  #failure: { readonly error: unknown } | undefined;
  #bytes: number;

  constructor(given: ObjectBody) {
    this.#given = given;
    this.#bytes = Buffer.isBuffer(given) ? given.length : 0;
    if (given instanceof Readable) given.on("error", () => undefined); // it may fail before it is read
    this.body = Buffer.isBuffer(given)
      ? given
      : Readable.from(this.#pieces(given instanceof Readable ? given : filePieces(given)), { objectMode: false });
  }

  /** The size; of a stream, as far as it was read. */
  get bytes(): number {
    return this.#bytes;
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Stops reading. An open file stays open. */
  end(): void {
    if (!Buffer.isBuffer(this.body)) this.body.destroy();
    if (this.#given instanceof Readable) this.#given.destroy();
  }

  /** Not `for await`: the client's errors are thrown at `yield` and must not be taken for those of the source. */
  async *#pieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const pieces = source[Symbol.asyncIterator]();
    try {
      for (;;) {
        const step = await pieces.next().catch((error: unknown) => {
          this.#failure = { error };
          throw error;
        });
        if (step.done === true) return;
        this.#bytes += step.value.length;
        yield step.value;
      }
    } finally {
      await pieces.return?.();
    }
  }
}
