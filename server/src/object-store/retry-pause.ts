import { setTimeout as pause } from "node:timers/promises";

const firstPauseMs = 100;
const maxPauseMs = 5_000;

/** Waits before a retry, or until the signal is aborted. */
export async function pauseBeforeRetry(attempt: number, signal: AbortSignal | undefined): Promise<void> {
  await pause(pauseMs(attempt, Math.random()), undefined, { signal }).catch(() => undefined);
}

/** Exponential backoff, half of it random, so that calls that failed together are not retried together. */
function pauseMs(attempt: number, random: number): number {
  return Math.min(firstPauseMs * 2 ** attempt, maxPauseMs) * (0.5 + random / 2);
}
