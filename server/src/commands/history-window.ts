import { invalid } from "../lib/fault.ts";

/** The time a history covers, from `start` to before `end`. */
export interface HistoryWindow {
  start: Date;
  end: Date;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const WINDOW_DAYS = 30;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

interface Moment {
  from: number;
  /** A date is a whole day, a timestamp a whole second. */
  lengthMs: number;
}

/** §4.6: both ends inclusive; without a start 30 days before the end, without an end today. */
export function historyWindow(startDate: string | undefined, endDate: string | undefined, now: Date): HistoryWindow {
  const end = endDate === undefined ? today(now) : moment("end_date", endDate);
  const start = startDate === undefined ? end.from - WINDOW_DAYS * DAY_MS : moment("start_date", startDate).from;
  const window = { start: new Date(start), end: new Date(end.from + end.lengthMs) };
  if (start >= window.end.getTime()) throw invalid("start_date", "must not be after end_date");
  return window;
}

function moment(field: string, text: string): Moment {
  const isDate = DATE.test(text);
  const from = isDate || TIMESTAMP.test(text) ? Date.parse(text) : NaN;
  // A date that does not exist matches the pattern, too: Date.parse reads February 30 as a day in March.
  if (Number.isNaN(from) || !new Date(from).toISOString().startsWith(text.slice(0, 10))) {
    throw invalid(field, "must be a date, YYYY-MM-DD, or a UTC timestamp, YYYY-MM-DDTHH:MM:SSZ");
  }
  return { from, lengthMs: isDate ? DAY_MS : 1000 };
}

function today(now: Date): Moment {
  return { from: Math.floor(now.getTime() / DAY_MS) * DAY_MS, lengthMs: DAY_MS };
}
