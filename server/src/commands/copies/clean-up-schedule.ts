/** A clean-up that has failed so far, as the list of open journals stores it. */
export interface FailedCleanUp {
  readonly failures: number;
  readonly firstFailedAt: number;
  /** It is not tried again before this time. */
  readonly dueAt: number;
}

const FIRST_PAUSE_MS = 10_000;
const MAX_PAUSE_MS = 5 * 60_000;

/**
 * Adds a failure. The pause doubles up to five minutes, so that a store that is down for hours, or keys that were revoked,
 * cost little. A quarter of it is random: the clean-ups of copies that were killed together do not stay together.
 */
export function addFailure(earlier: FailedCleanUp | undefined, now: number, random: number): FailedCleanUp {
  const { failures = 0, firstFailedAt = now } = earlier ?? {};
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS) * (0.75 + random / 4);
  return { failures: failures + 1, firstFailedAt, dueAt: now + pauseMs };
}

export function formatFailedCleanUp({ failures, firstFailedAt, dueAt }: FailedCleanUp): string {
  return `${failures} ${firstFailedAt} ${dueAt}`;
}

/** Undefined: it has not failed. */
export function parseFailedCleanUp(text: string): FailedCleanUp | undefined {
  const [failures = NaN, firstFailedAt = NaN, dueAt = NaN] = text.split(" ").map(Number);
  return Number.isFinite(dueAt) ? { failures, firstFailedAt, dueAt } : undefined;
}
