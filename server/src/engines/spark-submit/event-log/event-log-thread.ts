import { Worker } from "node:worker_threads";
import type { TurnReply, TurnRequest, TurnTaker } from "./event-log-protocol.ts";

/** More than a hundred times the usual duration of a turn. */
const turnLimitMs = 15_000;

/** The main thread's side of the thread that reads event logs. */
export class EventLogThread implements TurnTaker {
  readonly #worker = new Worker(new URL("./event-log-worker.ts", import.meta.url), {
    // An event has at most 4 MiB and few levels of nesting, so it takes less than 100 MiB when parsed.
    resourceLimits: { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 8 },
  });
  #underWay: PromiseWithResolvers<TurnReply> | undefined;
  #failure: Error | undefined;

  constructor() {
    this.#worker.unref();
    this.#worker.on("message", (reply: TurnReply) => this.#underWay?.resolve(reply));
    this.#worker.on("error", (error: unknown) => this.#fail(error));
    this.#worker.on("exit", (code) => this.#fail(code));
  }

  async turn(request: TurnRequest): Promise<TurnReply> {
    if (this.#failure !== undefined) throw this.#failure;
    const underWay = Promise.withResolvers<TurnReply>();
    this.#underWay = underWay;
    const limit = setTimeout(() => this.#fail("a turn took too long"), turnLimitMs);
    this.#worker.ref();
    try {
      this.#worker.postMessage(request, []);
      return await underWay.promise;
    } finally {
      clearTimeout(limit);
      this.#worker.unref();
    }
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #fail(cause: unknown): void {
    this.#failure ??= new Error("the thread that reads event logs has ended", { cause });
    this.#underWay?.reject(this.#failure);
  }
}
