/**
 * Renders spooled results as text, CSV, JSON or Arrow in worker threads; the main thread only passes the chunks on.
 * Rendering pauses while the reader does, and at most two chunks per reader are in memory.
 */
import { availableParallelism } from "node:os";
import { RenderThread, type ThreadRendering } from "./render-thread.ts";
import type { RenderOptions, Chunk } from "./rendering.ts";
import type { SpoolToRead } from "./spool-reader.ts";

export interface ResultRenderer {
  /** The iterator throws if the files are damaged or missing. */
  render(spool: SpoolToRead, options: RenderOptions, reader?: ReaderOptions): AsyncIterable<Uint8Array>;
  /**
   * Like `render`, but returns undefined unless the whole output is shorter than `limitBytes` before escaping. Everything
   * after the first chunk is rendered twice, once to measure it. The rendering is already open: read the iterator, call
   * its `return`, or abort.
   */
  renderUnder(
    limitBytes: number,
    spool: SpoolToRead,
    options: RenderOptions,
    reader?: ReaderOptions,
  ): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Length of the whole output. Takes as long as rendering it, up to the limit. */
  measure(spool: SpoolToRead, options: RenderOptions, limitBytes?: number): Promise<number>;
  /** How many renderings are open. */
  openCount(): number;
  stop(): Promise<void>;
}

interface ReaderOptions {
  readonly signal?: AbortSignal;
}

export interface ResultRendererOptions {
  readonly threads?: number;
  readonly idleMs?: number;
}

/** Threads stay for a while, because starting one takes 0.2 s; each uses about 30 MB. */
const IDLE_MS = 300_000;

export function resultRenderer({
  threads: threadLimit = Math.min(4, Math.max(1, availableParallelism() - 1)),
  idleMs = IDLE_MS,
}: ResultRendererOptions = {}): ResultRenderer {
  const threads = new Set<RenderThread>();
  let idleTimer: NodeJS.Timeout | undefined;

  const openCount = (): number => [...threads].reduce((sum, thread) => sum + thread.openCount, 0);

  function chooseThread(): RenderThread {
    for (const thread of threads) if (!thread.isAlive) threads.delete(thread);
    const [least] = [...threads].sort((a, b) => a.openCount - b.openCount);
    if (least !== undefined && (least.openCount === 0 || threads.size >= threadLimit)) return least;
    const thread = new RenderThread();
    threads.add(thread);
    return thread;
  }

  function open(spool: SpoolToRead, options: RenderOptions, { signal }: ReaderOptions = {}): ThreadRendering {
    signal?.throwIfAborted();
    clearTimeout(idleTimer);
    const rendering = chooseThread().open(spool, options);
    return {
      ...rendering,
      close() {
        rendering.close();
        if (openCount() === 0) stopIdleLater();
      },
    };
  }

  function stopIdleLater(): void {
    clearTimeout(idleTimer);
    idleTimer = setTimeout(() => void stop(), idleMs);
    idleTimer.unref();
  }

  async function stop(): Promise<void> {
    clearTimeout(idleTimer);
    const all = [...threads];
    threads.clear();
    await Promise.all(all.map((thread) => thread.stop()));
  }

  return {
    async *render(spool, options, reader) {
      const rendering = open(spool, options, reader);
      yield* new ChunkIterator(rendering, rendering.next(), reader?.signal);
    },

    async renderUnder(limitBytes, spool, options, reader) {
      const rendering = open(spool, options, reader);
      try {
        const first = await rendering.next();
        const rest = first.isLast ? 0 : await rendering.countRest(limitBytes);
        if (first.plainBytes + rest < limitBytes) return new ChunkIterator(rendering, first, reader?.signal);
      } catch (error) {
        rendering.close();
        throw error;
      }
      rendering.close();
      return undefined;
    },

    async measure(spool, options, limitBytes = Number.MAX_SAFE_INTEGER) {
      const rendering = open(spool, options);
      try {
        return await rendering.countRest(limitBytes);
      } finally {
        rendering.close();
      }
    },

    openCount,
    stop,
  };
}

/**
 * Iterates over the chunks of a rendering and prefetches the next one. Not a generator, because a generator that was
 * never started would not close the rendering.
 */
class ChunkIterator implements AsyncIterableIterator<Uint8Array> {
  readonly #rendering: ThreadRendering;
  readonly #signal: AbortSignal | undefined;
  readonly #close = (): void => {
    this.#coming = undefined;
    this.#signal?.removeEventListener("abort", this.#close);
    this.#rendering.close();
  };
  #coming: Promise<Chunk> | undefined;

  constructor(rendering: ThreadRendering, first: Chunk | Promise<Chunk>, signal: AbortSignal | undefined) {
    this.#rendering = rendering;
    this.#signal = signal;
    this.#expect(Promise.resolve(first));
    signal?.addEventListener("abort", this.#close);
    if (signal?.aborted === true) this.#close();
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      this.#signal?.throwIfAborted();
      if (this.#coming === undefined) return { done: true, value: undefined };
      const { bytes, isLast } = await this.#taken(this.#coming);
      if (isLast) this.#close();
      else if (this.#coming !== undefined) this.#expect(this.#rendering.next());
      if (bytes.length > 0) return { done: false, value: bytes };
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #expect(coming: Promise<Chunk>): void {
    this.#coming = coming;
    coming.catch(() => undefined); // `next` reports the error if it is called again
  }

  async #taken(coming: Promise<Chunk>): Promise<Chunk> {
    try {
      return await coming;
    } catch (error) {
      this.#close();
      this.#signal?.throwIfAborted();
      throw error;
    }
  }
}
