import { setTimeout as delay } from "node:timers/promises";
import type { ConnectEvent } from "./connect-event.ts";
import { ConnectError } from "./connect-error.ts";
import { EventReader } from "./event-reader.ts";
import type { MessageStream } from "./connect-rpc.ts";
import type { ExecutePlanResponse, ExecutePlanResponseSchema } from "./messages/base_pb.ts";

/**
 * A statement under way. The server ends each stream after some time or size, and connections break: the reading goes
 * on behind the last answer that was taken, by another stream.
 *
 *   start ──▶ reading ──complete──▶ end
 *     ▲         │  ▲
 *     │         ▼  │ answers
 *     └──── attach ┘            attach → start: the server never got the start (and refuses a second one)
 *                               start → attach: the server has this operation already
 *
 * A stream that ends because another one took over is tried again a few times: the other may be one of ours that came
 * late over a broken connection, or the release of the whole operation, which the next attach then finds gone.
 */
export interface ConnectExecution extends AsyncIterable<ConnectEvent> {
  readonly operationId: string;
  /** What came up to there is safe: the server may forget it. */
  release(position: string): void;
}

export interface OperationCalls {
  /** Undefined when the operation has to be there already. */
  readonly start: (() => MessageStream<typeof ExecutePlanResponseSchema>) | undefined;
  attach(position: string | undefined): MessageStream<typeof ExecutePlanResponseSchema>;
  /** Everything, when no position is given. Never fails. */
  release(position: string | undefined): Promise<void>;
  /** Throws when the answer is another session's. */
  check(answer: ExecutePlanResponse): void;
  /** Says more of an error than came with it. */
  explain(error: ConnectError): Promise<ConnectError>;
}

export interface Patience {
  /** How long a server may be out of reach. */
  readonly reconnectMs: number;
  /** How long a stream may be silent. The server ends it before. */
  readonly silenceMs: number;
}

export const patience: Patience = { reconnectMs: 20_000, silenceMs: 150_000 };

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** Shortly one after the other: two readers of one operation would else take it from each other for ever. */
const MOST_TAKEOVERS = 3;

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
    for await (const answer of this.#answers()) {
      const event = reader.read(answer);
      if (event === undefined) continue;
      yield event;
      if (event.kind !== "complete") continue;
      // Who asks for more has stored that it is complete; before, it could not be asked for again.
      void this.#calls.release(undefined);
      return;
    }
  }

  async *#answers(): AsyncGenerator<ExecutePlanResponse, never, undefined> {
    const { start } = this.#calls;
    let call = start === undefined ? "attach" : "start";
    let brokenSince: number | undefined;
    let pauseMs = FIRST_PAUSE_MS;
    let [takeovers, takenAt] = [0, 0];
    for (;;) {
      this.#signal.throwIfAborted();
      const stream = call === "start" && start !== undefined ? start() : this.#calls.attach(this.#position);
      let error: ConnectError | undefined;
      let isFruitless = true;
      try {
        for await (const answer of this.#read(stream)) {
          isFruitless = false;
          brokenSince = undefined;
          pauseMs = FIRST_PAUSE_MS;
          yield answer;
        }
      } catch (thrown) {
        this.#signal.throwIfAborted();
        if (!(thrown instanceof ConnectError)) throw thrown;
        error = thrown;
      }
      if (error?.kind === "taken over") {
        takeovers = performance.now() - takenAt > this.#patience.reconnectMs ? 1 : takeovers + 1;
        takenAt = performance.now();
        if (takeovers > MOST_TAKEOVERS) throw error;
      }
      const next = this.#next(call, error);
      if (next === undefined) throw await this.#calls.explain(error ?? emptyStream());
      call = next;
      if (!mayBeBroken(error, isFruitless)) continue;
      brokenSince ??= performance.now();
      if (performance.now() - brokenSince > this.#patience.reconnectMs) throw error ?? emptyStream();
      await delay(pauseMs, undefined, { signal: this.#signal }).catch(() => this.#signal.throwIfAborted());
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }

  /** What to do after a stream ended so; undefined: nothing helps. */
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
        const answer = await stream.next(this.#patience.silenceMs);
        if (answer === undefined) return;
        this.#signal.throwIfAborted();
        this.#calls.check(answer);
        this.#position = answer.responseId;
        yield answer;
      }
    } finally {
      this.#signal.removeEventListener("abort", cancel);
      stream.cancel();
    }
  }

  /** One at a time, always the newest. */
  async #sendReleases(): Promise<void> {
    for (let sent: string | undefined; this.#release !== undefined && this.#release.position !== sent;) {
      sent = this.#release.position;
      this.#release = { position: sent, running: true };
      await this.#calls.release(sent);
    }
    this.#release = undefined;
  }
}

/** The next attempt had better wait a moment. */
function mayBeBroken(error: ConnectError | undefined, isFruitless: boolean): boolean {
  return error === undefined ? isFruitless : error.kind === "unavailable" || error.kind === "taken over";
}

function emptyStream(): ConnectError {
  return new ConnectError({ kind: "unavailable", message: "The server ends every stream without an answer", code: 14 });
}
