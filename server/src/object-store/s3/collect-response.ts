import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { ObjectStoreError } from "../object-store-error.ts";

/** A response whose body is in memory. */
export interface S3Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** The rest of an error's body is not read. */
export const ERROR_LIMIT_BYTES = 64 * 1024;

/**
 * Sends a request and collects the response in one buffer. For small objects this costs a fraction of a stream per
 * response. If the body of a success is larger than the limit, the call fails. An error's body has its own limit, so that
 * the error of a small read can be understood.
 */
export function collectResponse(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  limitBytes: number,
  signal: AbortSignal | undefined,
): Promise<S3Answer> {
  return new Promise((resolve, reject) => {
    const collector = new Collector(limitBytes, resolve, reject);
    if (signal === undefined) {
      dispatcher.dispatch(request, collector);
      return;
    }
    const abort = (): void => collector.abort(signal.reason);
    collector.onSettled = (): void => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort, { once: true });
    dispatcher.dispatch(request, collector);
    if (signal.aborted) abort();
  });
}

const empty = Buffer.alloc(0);

class Collector implements Dispatcher.DispatchHandler {
  onSettled: (() => void) | undefined;
  #limitBytes: number;
  readonly #resolve: (answer: S3Answer) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #isAborted = false;
  #reason: unknown;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #body: Buffer = empty;
  #length = 0;
  /** Whether the body is our own memory, of the size that the response has announced or larger. */
  #isOwn = false;

  constructor(limitBytes: number, resolve: (answer: S3Answer) => void, reject: (error: unknown) => void) {
    this.#limitBytes = limitBytes;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Works also while the request waits for a connection: undici then drops it when its turn comes. */
  abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(errorOf(reason));
    this.#settle();
    this.#reject(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isAborted) controller.abort(errorOf(this.#reason));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    if (status >= 300) this.#limitBytes = ERROR_LIMIT_BYTES;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const end = this.#length + chunk.length;
    if (end > this.#limitBytes) {
      if (this.#status >= 300) this.onResponseEnd(); // the status says enough
      this.abort(new ObjectStoreError("bad-response", `the answer is larger than ${this.#limitBytes} bytes`));
      return;
    }
    if (this.#length === 0 && end === this.#announced()) {
      this.#body = chunk; // the socket's own buffer: nothing has to be copied
    } else {
      if (!this.#isOwn || end > this.#body.length) this.#grow(end);
      chunk.copy(this.#body, this.#length);
    }
    this.#length = end;
  }

  onResponseEnd(): void {
    this.#settle();
    const bytes = this.#body.length === this.#length ? this.#body : this.#body.subarray(0, this.#length);
    this.#resolve({ status: this.#status, headers: this.#headers, bytes });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settle();
    this.#reject(error);
  }

  #announced(): number {
    return Number(this.#headers["content-length"] ?? NaN);
  }

  /** To the announced size, unless that is above the limit or unknown. */
  #grow(end: number): void {
    const announced = this.#announced();
    const size = announced >= end && announced <= this.#limitBytes ? announced : Math.max(end, 2 * this.#body.length);
    const larger = Buffer.allocUnsafe(size);
    this.#body.copy(larger, 0, 0, this.#length);
    this.#body = larger;
    this.#isOwn = true;
  }

  #settle(): void {
    this.onSettled?.();
    this.onSettled = undefined;
  }
}

function errorOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error("aborted", { cause: reason });
}
