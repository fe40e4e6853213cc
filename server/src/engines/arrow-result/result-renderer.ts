import { availableParallelism } from "node:os";
import { Fault } from "../../lib/fault.ts";
import { sharedPlaces } from "../../lib/shared-places.ts";
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
  render(spool: SpoolToRead, options: RenderOptions, reading?: Reading): AsyncIterable<Uint8Array>;
  /**
   * The same, where all of it is shorter than `limitBytes` without escapes; undefined: it is not. What does not fit into
   * the first piece is made twice, once to be counted. To be read, returned or aborted: it is open from the beginning.
   */
  renderUnder(
    limitBytes: number,
    spool: SpoolToRead,
    options: RenderOptions,
    reading?: Reading,
  ): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** How long all of it would be: takes as long as rendering it, up to a limit. */
  measure(spool: SpoolToRead, options: RenderOptions, limitBytes?: number): Promise<number>;
  stop(): Promise<void>;
}

export interface Reading {
  /** Each has a share of the places. Undefined: the server itself, which limits its own readings. */
  readonly owner?: number;
  readonly signal?: AbortSignal;
}

export interface ResultRendererOptions {
  readonly threads?: number;
  /** Readings of all owners that are open at the same time. */
  readonly openLimit?: number;
  readonly openLimitOfOwner?: number;
  readonly idleMs?: number;
}

/** A thread costs some 30 MB and 0.2 s to start, so they are kept for a while. */
const IDLE_MS = 300_000;
const RETRY_AFTER_SECONDS = 5;

export function resultRenderer({
  threads: threadLimit = Math.min(4, Math.max(1, availableParallelism() - 1)),
  openLimit = 200,
  openLimitOfOwner = 50,
  idleMs = IDLE_MS,
}: ResultRendererOptions = {}): ResultRenderer {
  const threads = new Set<RenderThread>();
  const places = sharedPlaces({ perOwner: openLimitOfOwner, inAll: openLimit, refusal: tooManyReadings });
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

  function open(spool: SpoolToRead, options: RenderOptions, { owner, signal }: Reading = {}): ThreadRendering {
    signal?.throwIfAborted();
    const free = owner === undefined ? () => undefined : places.take(owner);
    clearTimeout(idleTimer);
    let rendering: ThreadRendering;
    try {
      rendering = chooseThread().open(spool, options);
    } catch (error) {
      free();
      throw error;
    }
    return {
      ...rendering,
      close() {
        free();
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
    async *render(spool, options, reading) {
      const rendering = open(spool, options, reading);
      yield* new Pieces(rendering, rendering.next(), reading?.signal);
    },

    async renderUnder(limitBytes, spool, options, reading) {
      const rendering = open(spool, options, reading);
      try {
        const first = await rendering.next();
        const rest = first.isLast ? 0 : await rendering.countRest(limitBytes);
        if (first.plainBytes + rest < limitBytes) return new Pieces(rendering, first, reading?.signal);
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

function tooManyReadings(taken: "share" | "all"): Fault {
  const details = { retryAfterSeconds: RETRY_AFTER_SECONDS };
  if (taken === "all") return new Fault("unavailable", "Too many results are being read; try again.", details);
  const message = "Too many results of this account are being read at once. Wait for the others to end.";
  return new Fault("rate-limited", message, details);
}
