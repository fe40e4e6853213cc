import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { CodecError } from "../blocks/codec-error.ts";
import { type BlockTask, bytesOf } from "./block-task.ts";

/** All streams share the threads. More threads would take cores from the transfers. */
const MAX_THREADS = Math.min(2, availableParallelism());
/** One more than the threads, so that none of them waits for the stream's consumer. */
export const TASKS_PER_STREAM = MAX_THREADS + 1;
/** Starting a thread takes about 50 ms; an idle one costs a few MiB. */
const IDLE_MS = 2_000;

export interface BlockRequest {
  readonly id: number;
  readonly task: BlockTask;
}

export type BlockReply =
  | { readonly id: number; readonly bytes: Uint8Array }
  | { readonly id: number; readonly damage: string };

const threads: BlockThread[] = [];

/** Runs the task in a thread. Its bytes are transferred to that thread and must not be used afterwards. */
export async function runBlockTask(task: BlockTask): Promise<Buffer> {
  let thread = threads.reduce<BlockThread | undefined>(
    (least, other) => (least === undefined || other.load < least.load ? other : least),
    undefined,
  );
  if (thread === undefined || (thread.load > 0 && threads.length < MAX_THREADS)) {
    thread = new BlockThread();
    threads.push(thread);
  }
  return thread.run(task);
}

/** A worker thread. It keeps the process alive only while it has work, and ends when it is idle. */
class BlockThread {
  readonly #worker = new Worker(new URL("./block-worker.ts", import.meta.url));
  readonly #pending = new Map<number, PromiseWithResolvers<Buffer>>();
  #nextId = 1;
  #idle: NodeJS.Timeout | undefined;

  constructor() {
    this.#worker.on("message", (reply: BlockReply) => this.#settle(reply));
    this.#worker.on("error", (error: unknown) => this.#end(error));
    this.#worker.on("exit", (code) => this.#end(code));
  }

  /** The number of tasks that it has not finished. */
  get load(): number {
    return this.#pending.size;
  }

  run(task: BlockTask): Promise<Buffer> {
    const id = this.#nextId++;
    const pending = Promise.withResolvers<Buffer>();
    this.#pending.set(id, pending);
    clearTimeout(this.#idle);
    this.#worker.ref();
    const request: BlockRequest = { id, task };
    this.#worker.postMessage(request, [bytesOf(task).buffer as ArrayBuffer]);
    return pending.promise;
  }

  #settle(reply: BlockReply): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if ("damage" in reply) pending?.reject(new CodecError(reply.damage));
    else pending?.resolve(Buffer.from(reply.bytes.buffer, reply.bytes.byteOffset, reply.bytes.length));
    if (this.#pending.size > 0) return;
    this.#worker.unref();
    this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
  }

  #end(cause?: unknown): void {
    const at = threads.indexOf(this);
    if (at >= 0) threads.splice(at, 1);
    clearTimeout(this.#idle);
    const failure = new Error("the thread for compressed blocks has ended", { cause });
    for (const pending of this.#pending.values()) pending.reject(failure);
    this.#pending.clear();
    void this.#worker.terminate();
  }
}
