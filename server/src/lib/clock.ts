/** The clock is passed in, so that tests can set the time. */
export interface Clock {
  now(): Date;
}

export const DAY_SECONDS = 24 * 3600;
export const DAY_MS = DAY_SECONDS * 1000;

export const systemClock: Clock = { now: () => new Date() };

/** §1: `YYYY-MM-DDTHH:MM:SSZ`, without fractions. */
export function isoSeconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
