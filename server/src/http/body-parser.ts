import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { Fault } from "../lib/fault.ts";
import { jsonBody } from "./json-body.ts";
import type { ParseReply, ParseRequest } from "./body-parser-worker.ts";

/** Bodies of at least this size are parsed in a thread: JSON of this length takes about a millisecond. */
const THREAD_FROM_BYTES = 128 * 1024;
/**
 * The default limit. Receiving a value costs the main thread as much as parsing it, and about ten times its length in
 * memory; a long string costs little of either.
 */
const MAX_VALUES = 100_000;
const IDLE_MS = 10_000;

export interface ParsedBody {
  readonly value: unknown;
  readonly sha256: () => Buffer;
}

/**
 * Parses bodies, large ones in a worker thread: 30 MB of JSON would block all other requests for up to half a second.
 * The thread is started for the first large body and ends after some idle time.
 */
export class BodyParser {
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  readonly #waiting: PromiseWithResolvers<ParseReply>[] = [];

  /** Undefined if the body is large: use `parseLarge`. */
  parseSmall(bytes: Buffer): ParsedBody | undefined {
    if (bytes.length >= THREAD_FROM_BYTES) return undefined;
    return { value: jsonBody(bytes), sha256: () => createHash("sha256").update(bytes).digest() };
  }

  async parseLarge(bytes: Buffer, maxValues = MAX_VALUES): Promise<ParsedBody> {
    const answer = Promise.withResolvers<ParseReply>();
    this.#waiting.push(answer);
    const worker = this.#start();
    const owned = bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.length ? bytes : copy(bytes);
    const request: ParseRequest = { bytes: owned, maxValues };
    worker.postMessage(request, [owned.buffer as ArrayBuffer]); // `owned` has an ArrayBuffer of its own
    const reply = await answer.promise;
    if (reply.kind === "refused") throw new Fault("malformed", reply.message);
    const sha256 = Buffer.from(reply.sha256);
    return { value: reply.value, sha256: () => sha256 };
  }

  stop(): void {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#fail(worker, new Error("the body parser thread was stopped")); // the next body starts another
    void worker.terminate();
  }

  #start(): Worker {
    clearTimeout(this.#idle);
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(new URL("./body-parser-worker.ts", import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    worker.unref();
    worker.on("message", (reply: ParseReply) => {
      this.#waiting.shift()?.resolve(reply);
      if (this.#waiting.length === 0) this.#idle = setTimeout(() => this.stop(), IDLE_MS).unref();
    });
    worker.on("error", (error) => this.#fail(worker, error));
    worker.on("exit", () => this.#fail(worker, new Error("the body parser thread ended")));
    this.#worker = worker;
    return worker;
  }

  #fail(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const fault = new Fault("unavailable", "The body could not be parsed now. Try again shortly.", {
      cause,
      retryAfterSeconds: 1,
    });
    for (const { reject } of this.#waiting.splice(0)) reject(fault);
  }
}

function copy(bytes: Buffer): Buffer {
  const whole = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(whole);
  return whole;
}
