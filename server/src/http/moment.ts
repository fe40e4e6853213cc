import { Type } from "typebox";
import { DAY_MS } from "../lib/clock.ts";
import { invalid } from "../lib/fault.ts";

/** An optional query field for the start or the end of a period. */
export const Moment = (description: string, example: string) =>
  Type.Optional(
    Type.String({
      maxLength: 32,
      description: `${description}: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ`,
      examples: [example],
    }),
  );

/** A date is the whole day, a timestamp the whole second. */
export interface GivenMoment {
  /** Milliseconds since 1970. */
  from: number;
  lengthMs: number;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

export function parseMoment(field: string, text: string): GivenMoment {
  const isDate = DATE.test(text);
  const from = isDate || TIMESTAMP.test(text) ? Date.parse(text) : NaN;
  // A date that does not exist matches the pattern, too: Date.parse reads February 30 as a day in March.
  if (Number.isNaN(from) || !new Date(from).toISOString().startsWith(text.slice(0, 10))) {
    throw invalid(field, "must be a date, YYYY-MM-DD, or a UTC timestamp, YYYY-MM-DDTHH:MM:SSZ");
  }
  return { from, lengthMs: isDate ? DAY_MS : 1000 };
}
