import type { ThreadRendering } from "./render-thread.ts";
import type { Chunk } from "./rendering.ts";

/**
 * Iterates over the chunks of a rendering and prefetches the next one. Not a generator, because a generator that was
 * never started would not close the rendering.
 */
export class ChunkIterator implements AsyncIterableIterator<Uint8Array> {
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
