import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Chunk, RenderOptions } from "./rendering.ts";
import type { SpoolToRead } from "./spool-reader.ts";

/** The main thread's handle on a rendering in a render thread. */
export interface ThreadRendering {
  next(): Promise<Chunk>;
  countRest(limit: number): Promise<number>;
  close(): void;
}

type PendingReply = PromiseWithResolvers<RenderReply>;

/** A worker thread with the renderings that are open in it. */
export class RenderThread {
  readonly #worker = new Worker(new URL("./render-worker.ts", import.meta.url), {
    // The server's own, smaller young generation would make rendering a fifth slower.
    resourceLimits: { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 24 },
  });
  readonly #pending = new Map<number, PendingReply[]>();
  #nextId = 1;
  #failure: Error | undefined;

  constructor() {
    this.#worker.unref();
    this.#worker.on("message", (reply: RenderReply) => this.#pending.get(reply.id)?.shift()?.resolve(reply));
    this.#worker.on("error", (error: unknown) => this.#fail(error));
    this.#worker.on("exit", (code) => this.#fail(code));
  }

  get isAlive(): boolean {
    return this.#failure === undefined;
  }

  get openCount(): number {
    return this.#pending.size;
  }

  open(spool: SpoolToRead, options: RenderOptions): ThreadRendering {
    const id = this.#nextId++;
    const { dataFile, indexFile, rows, records } = spool;
    this.#pending.set(id, []);
    this.#send({ kind: "open", id, spool: { dataFile, indexFile, rows, records }, options });
    return {
      next: async () => {
        const reply = await this.#request({ kind: "next", id });
        if (reply.kind !== "chunk") throw failure(reply);
        return reply;
      },
      countRest: async (limit) => {
        const reply = await this.#request({ kind: "count", id, limit });
        if (reply.kind !== "count") throw failure(reply);
        return reply.bytes;
      },
      close: () => {
        if (!this.#pending.delete(id)) return;
        this.#send({ kind: "close", id });
        if (this.#pending.size === 0) this.#worker.unref();
      },
    };
  }

  async stop(): Promise<void> {
    if (!this.isAlive) return;
    const ended = once(this.#worker, "exit");
    await this.#worker.terminate();
    await ended;
  }

  #send(request: RenderRequest): void {
    if (this.isAlive) this.#worker.postMessage(request, []);
  }

  async #request(request: RenderRequest & { kind: "next" | "count" }): Promise<RenderReply> {
    const queue = this.#pending.get(request.id);
    if (queue === undefined) throw new Error("the rendering is closed");
    if (this.#failure !== undefined) throw this.#failure;
    const pending = Promise.withResolvers<RenderReply>();
    queue.push(pending);
    this.#worker.ref();
    this.#send(request);
    return pending.promise;
  }

  #fail(cause: unknown): void {
    this.#failure ??= new Error("the render thread has ended", { cause });
    for (const queue of this.#pending.values()) {
      for (const pending of queue.splice(0)) pending.reject(this.#failure);
    }
  }
}

function failure(reply: RenderReply): Error {
  const cause = reply.kind === "failed" ? reply.error : reply;
  return new Error("the result cannot be rendered", { cause });
}

/** Messages to a render thread. Each chunk is requested, so the thread never runs ahead of the reader. */
export type RenderRequest =
  | { readonly kind: "open"; readonly id: number; readonly spool: SpoolToRead; readonly options: RenderOptions }
  | { readonly kind: "next"; readonly id: number }
  | { readonly kind: "count"; readonly id: number; readonly limit: number }
  | { readonly kind: "close"; readonly id: number };

/** One reply per `next` and `count`, in the order of the requests. */
export type RenderReply =
  | ({ readonly kind: "chunk"; readonly id: number } & Chunk)
  | { readonly kind: "count"; readonly id: number; readonly bytes: number }
  | { readonly kind: "failed"; readonly id: number; readonly error: unknown };
