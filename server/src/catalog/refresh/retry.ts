import { setTimeout as delay } from "node:timers/promises";

/** Together longer than a restart of PostgreSQL or of a metastore. */
const PAUSES_MS = [50, 250, 1000, 3000, 6000];

/** Repeats idempotent work a few times after transient errors. */
export async function retry<T>(
  work: () => Promise<T>,
  isTransient: (error: unknown) => boolean,
  signal: AbortSignal,
): Promise<T> {
  for (const pauseMs of PAUSES_MS) {
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
