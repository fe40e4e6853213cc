import { setTimeout as delay } from "node:timers/promises";

/** Together longer than a restart of PostgreSQL or of a metastore takes. */
const PAUSES_MS = [50, 250, 1000, 3000, 6000];

/** For work of which two are as good as one: again after what passes by itself, a few times. */
export async function repeat<T>(
  work: () => Promise<T>,
  doesPass: (error: unknown) => boolean,
  signal: AbortSignal,
): Promise<T> {
  for (const pauseMs of PAUSES_MS) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!doesPass(error)) throw error;
    }
    await delay(pauseMs, undefined, { signal });
  }
  return work();
}
