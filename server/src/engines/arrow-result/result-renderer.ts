import { availableParallelism } from "node:os";
import { Fault } from "../../lib/fault.ts";
import { Pieces } from "./pieces.ts";
import { RenderThread, type ThreadRendering } from "./render-thread.ts";
import type { RenderOptions } from "./rendering.ts";
import type { SpoolToRead } from "./spool-reader.ts";

/**
 * Turns spooled results into text, CSV, JSON or Arrow, in threads of their own: the main one only passes the pieces on.
 * A reader that stops reading stops the rendering; what is held for it is two pieces, whatever the result's size.
 */
export interface ResultRenderer {
  /** Fails while it is read when the files are damaged or gone. */
  render(spool: SpoolToRead, options: RenderOptions, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * The same, where all of it is shorter than `limitBytes` without escapes; undefined: it is not. What does not fit into the first piece
   * is made twice, once to be counted. To be read, returned or aborted: it is open from the beginning.
   */
  renderUnder(
    limitBytes: number,
    spool: SpoolToRead,
    options: RenderOptions,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** How long all of it would be: takes as long as rendering it, up to a limit. */
  measure(spool: SpoolToRead, options: RenderOptions, limitBytes?: number): Promise<number>;
  stop(): Promise<void>;
}

export interface ResultRendererOptions {
  readonly threads?: number;
  readonly openLimit?: number;
  readonly idleMs?: number;
}

/** A thread costs some 30 MB and 0.2 s to start, so they are kept for a while. */
const IDLE_MS = 300_000;
const RETRY_AFTER_SECONDS = 5;

export function resultRenderer({
  threads: threadLimit = Math.min(4, Math.max(1, availableParallelism() - 1)),
  openLimit = 200,
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

  function open(spool: SpoolToRead, options: RenderOptions): ThreadRendering {
    if (openCount() >= openLimit) {
      throw new Fault("unavailable", "Too many results are being read; try again.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
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
    async *render(spool, options, signal) {
      signal?.throwIfAborted();
      const rendering = open(spool, options);
      yield* new Pieces(rendering, rendering.next(), signal);
    },

    async renderUnder(limitBytes, spool, options, signal) {
      signal?.throwIfAborted();
      const rendering = open(spool, options);
      try {
        const first = await rendering.next();
        const rest = first.isLast ? 0 : await rendering.countRest(limitBytes);
        if (first.plainBytes + rest < limitBytes) return new Pieces(rendering, first, signal);
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

    stop,
  };
}
