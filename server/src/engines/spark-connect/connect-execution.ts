/**
 * A running statement. The server ends each stream after some time or size, and connections break: another stream then
 * continues after the last response that was read.
 *
 *   start ──▶ reading ──complete──▶ end
 *     ▲         │  ▲
 *     │         ▼  │ responses
 *     └──── attach ┘            attach → start: the server never received the start (it refuses a second one)
 *                               start → attach: the server has this operation already
 *
 * A stream that ends because another one took over is tried again a few times. The other may be our own stream, delayed
 * by a broken connection, or the release of the whole operation, which the next attach then finds gone.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type ConnectEvent, EventReader } from "./connect-event.ts";
import { ConnectError } from "./connect-error.ts";
import type { MessageStream } from "./connect-rpc.ts";
import type { ExecutePlanResponse, ExecutePlanResponseSchema } from "./messages/base_pb.ts";

export interface ConnectExecution extends AsyncIterable<ConnectEvent> {
  readonly operationId: string;
  /** Everything up to the position is stored, so the server may discard it. */
  release(position: string): void;
}

export interface OperationCalls {
  /** Undefined: the operation must exist already. */
  readonly start: (() => MessageStream<typeof ExecutePlanResponseSchema>) | undefined;
  attach(position: string | undefined): MessageStream<typeof ExecutePlanResponseSchema>;
  /** Without a position everything is released. Never fails. */
  release(position: string | undefined): Promise<void>;
  /** Throws if the response comes from another session. */
  check(response: ExecutePlanResponse): void;
  /** Adds details that the server did not send with the error. */
  explain(error: ConnectError): Promise<ConnectError>;
}

export interface Patience {
  /** How long a server may be unreachable. */
  readonly reconnectMs: number;
  /** How long a stream may be silent. The server normally ends it earlier. */
  readonly silenceMs: number;
}

export const patience: Patience = { reconnectMs: 20_000, silenceMs: 150_000 };

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** Spark's streams last two minutes or a gigabyte. */
const SHORT_STREAM_MS = 1_000;
/** In quick succession. Without this limit two readers of one operation would take it from each other for ever. */
const MAX_TAKEOVERS = 3;

export class Operation implements ConnectExecution {
  readonly operationId: string;
  readonly #calls: OperationCalls;
  readonly #signal: AbortSignal;
  readonly #patience: Patience;
  #position: string | undefined;
  #release: { position: string; running: boolean } | undefined;

  constructor(
    operationId: string,
    calls: OperationCalls,
    from: { position?: string | undefined; signal?: AbortSignal | undefined; patience?: Patience | undefined },
  ) {
    this.operationId = operationId;
    this.#calls = calls;
    this.#position = from.position;
    this.#signal = from.signal ?? new AbortController().signal;
    this.#patience = from.patience ?? patience;
  }

  release(position: string): void {
    const running = this.#release?.running ?? false;
    this.#release = { position, running };
    if (!running) void this.#sendReleases();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ConnectEvent, void, undefined> {
    const reader = new EventReader();
    for await (const response of this.#responses()) {
      const event = await reader.read(response);
      this.#signal.throwIfAborted();
      if (event === undefined) continue;
      yield event;
      if (event.kind !== "complete") continue;
      // A reader that asks for the next event has stored the completion. After the release it could not be read again.
      void this.#calls.release(undefined);
      return;
    }
  }

  async *#responses(): AsyncGenerator<ExecutePlanResponse, never, undefined> {
    const { start } = this.#calls;
    let call = start === undefined ? "attach" : "start";
    let brokenSince: number | undefined;
    let pauseMs = FIRST_PAUSE_MS;
    let [takeovers, takenAt] = [0, 0];
    for (;;) {
      this.#signal.throwIfAborted();
      const openedAt = performance.now();
      const stream = call === "start" && start !== undefined ? start() : this.#calls.attach(this.#position);
      let error: ConnectError | undefined;
      let isEmpty = true;
      try {
        for await (const response of this.#read(stream)) {
          isEmpty = false;
          brokenSince = undefined;
          pauseMs = FIRST_PAUSE_MS;
          yield response;
        }
      } catch (thrown) {
        this.#signal.throwIfAborted();
        if (!(thrown instanceof ConnectError)) throw thrown;
        error = thrown;
      }
      if (error?.kind === "taken over") {
        takeovers = performance.now() - takenAt > this.#patience.reconnectMs ? 1 : takeovers + 1;
        takenAt = performance.now();
        if (takeovers > MAX_TAKEOVERS) throw error;
      }
      const next = this.#next(call, error);
      if (next === undefined) throw await this.#calls.explain(error ?? emptyStream());
      call = next;
      if (!mayBeBroken(error, isEmpty)) {
        // A server that ends every stream after one response would keep the main thread busy with calls.
        if (error === undefined && performance.now() - openedAt < SHORT_STREAM_MS) await this.#pause(FIRST_PAUSE_MS);
        continue;
      }
      brokenSince ??= performance.now();
      if (performance.now() - brokenSince > this.#patience.reconnectMs) throw error ?? emptyStream();
      await this.#pause(pauseMs);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { signal: this.#signal }).catch(() => this.#signal.throwIfAborted());
  }

  /** The next call after a stream ended this way; undefined: a retry is pointless. */
  #next(call: string, error: ConnectError | undefined): "start" | "attach" | undefined {
    if (error === undefined || error.kind === "unavailable" || error.kind === "taken over") return "attach";
    if (call === "start" && error.operationExists) return "attach";
    const neverArrived = error.kind === "operation gone" || error.kind === "session gone";
    const mayStart = call === "attach" && this.#calls.start !== undefined && this.#position === undefined;
    return mayStart && neverArrived && error.errorClass?.endsWith("_NOT_FOUND") ? "start" : undefined;
  }

  async *#read(
    stream: MessageStream<typeof ExecutePlanResponseSchema>,
  ): AsyncGenerator<ExecutePlanResponse, void, undefined> {
    const cancel = (): void => stream.cancel();
    this.#signal.addEventListener("abort", cancel);
    try {
      for (;;) {
        const response = await stream.next(this.#patience.silenceMs);
        if (response === undefined) return;
        this.#signal.throwIfAborted();
        this.#calls.check(response);
        this.#position = response.responseId;
        yield response;
      }
    } finally {
      this.#signal.removeEventListener("abort", cancel);
      stream.cancel();
    }
  }

  /** Sends one release at a time, always with the newest position. */
  async #sendReleases(): Promise<void> {
    for (let sent: string | undefined; this.#release !== undefined && this.#release.position !== sent;) {
      sent = this.#release.position;
      this.#release = { position: sent, running: true };
      await this.#calls.release(sent);
    }
    this.#release = undefined;
  }
}

/** Whether the next attempt should wait a moment. */
function mayBeBroken(error: ConnectError | undefined, isEmpty: boolean): boolean {
  return error === undefined ? isEmpty : error.kind === "unavailable" || error.kind === "taken over";
}

function emptyStream(): ConnectError {
  return new ConnectError({
    kind: "unavailable",
    message: "The server ends every stream without a response",
    code: 14,
  });
}
