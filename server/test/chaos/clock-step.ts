/** Far longer than any lease and twice as long as a chaos run, and shorter than the idle time that ends a cluster. */
export const CLOCK_STEP_SECONDS = 90 * 60;

/** The true time, in milliseconds, of an event of this run that was stored while the clock may have been wrong. */
export function withoutStep(storedMs: number, nowMs: number): number {
  const stepMs = CLOCK_STEP_SECONDS * 1000;
  return storedMs - Math.round((storedMs - nowMs) / stepMs) * stepMs;
}
