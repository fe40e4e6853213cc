import { setTimeout as delay } from "node:timers/promises";

/** Together longer than a restart of PostgreSQL or of a metastore. */
const PAUSES_MS = [50, 250, 1000, 3000, 6000];

/** For our own PostgreSQL: about a minute, which is longer than a failover and as long as metastores wait (ADR 14). */
export const FAILOVER_PAUSES_MS = [...PAUSES_MS, 10_000, 20_000, 20_000];

/** Repeats idempotent work a few times after transient errors. */
export async function retry<T>(
  work: () => Promise<T>,
  isTransient: (error: unknown) => boolean,
  signal: AbortSignal,
  pausesMs: readonly number[] = PAUSES_MS,
): Promise<T> {
  for (const pauseMs of pausesMs) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error)) throw error;
    }
    await delay(pauseMs, undefined, { signal });
  }
  return work();
}
