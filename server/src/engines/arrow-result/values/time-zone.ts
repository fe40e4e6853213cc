import { DAY_SECONDS } from "../../../lib/clock.ts";
import type { ZoneOffset } from "./calendar-text.ts";

/** Short names of java.time (`ZoneId.SHORT_IDS`). */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  ACT: "Australia/Darwin",
  AET: "Australia/Sydney",
  AGT: "America/Argentina/Buenos_Aires",
  ART: "Africa/Cairo",
  AST: "America/Anchorage",
  BET: "America/Sao_Paulo",
  BST: "Asia/Dhaka",
  CAT: "Africa/Harare",
  CNT: "America/St_Johns",
  CST: "America/Chicago",
  CTT: "Asia/Shanghai",
  EAT: "Africa/Addis_Ababa",
  ECT: "Europe/Paris",
  IET: "America/Indiana/Indianapolis",
  IST: "Asia/Kolkata",
  JST: "Asia/Tokyo",
  MIT: "Pacific/Apia",
  NET: "Asia/Yerevan",
  NST: "Pacific/Auckland",
  PLT: "Asia/Karachi",
  PNT: "America/Phoenix",
  PRT: "America/Puerto_Rico",
  PST: "America/Los_Angeles",
  SST: "Pacific/Guadalcanal",
  VST: "Asia/Ho_Chi_Minh",
  EST: "-05:00",
  MST: "-07:00",
  HST: "-10:00",
};

const FIXED = /^(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{2}))?$/;
/** The calendar with its weekdays, and so the daylight saving rules, repeat every 400 years. */
const CYCLE = 146_097 * DAY_SECONDS;
/** Offsets are constant before and periodic after these times, which are within the range of a JavaScript date. */
const [REGULAR_FROM, REGULAR_TO] = [-8_000_000_000, 200_000_000_000];
const MAX_CACHED_DAYS = 50_000;

/** The offset of a zone as Spark names it: a region, a fixed offset, or one of Java's short names. */
export function zoneOffset(name: string): ZoneOffset {
  const zone = SHORT_NAMES[name] ?? name;
  const fixed = FIXED.exec(zone);
  if (fixed === null) return /^(?:Z|UTC|GMT|UT)$/.test(zone) ? () => 0 : regionOffset(zone);
  const [, sign, hours, minutes = 0, seconds = 0] = fixed;
  const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return () => (sign === "-" ? -offset : offset);
}

interface OffsetsOfDay {
  readonly before: number;
  readonly after: number;
  /** The first second with the offset `after`. */
  readonly change: number;
}

/** Looking up an offset is slow, so the offsets of each day are cached. */
function regionOffset(zone: string): ZoneOffset {
  const lookUp = offsetLookup(zone);
  const days = new Map<number, OffsetsOfDay>();
  let [lastDay, last]: [number, OffsetsOfDay | undefined] = [NaN, undefined];
  return (seconds) => {
    const moment = toRegularRange(seconds);
    const day = Math.floor(moment / DAY_SECONDS);
    if (day !== lastDay || last === undefined) {
      last = days.get(day);
      if (last === undefined) {
        last = offsetsOf(day, lookUp);
        if (days.size >= MAX_CACHED_DAYS) days.clear();
        days.set(day, last);
      }
      lastDay = day;
    }
    return moment < last.change ? last.before : last.after;
  };
}

function toRegularRange(seconds: number): number {
  if (seconds < REGULAR_FROM) return REGULAR_FROM;
  return seconds > REGULAR_TO ? seconds - Math.ceil((seconds - REGULAR_TO) / CYCLE) * CYCLE : seconds;
}

/** Finds the change by bisection: no zone has ever changed its offset twice within a day. */
function offsetsOf(day: number, lookUp: ZoneOffset): OffsetsOfDay {
  let [low, high] = [day * DAY_SECONDS, (day + 1) * DAY_SECONDS];
  const [before, after] = [lookUp(low), lookUp(high)];
  if (before === after) return { before, after, change: low };
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (lookUp(middle) === before) low = middle;
    else high = middle;
  }
  return { before, after, change: high };
}

/** Uses the wall clock of Intl, which is exact to the second even where offsets were not whole minutes. */
function offsetLookup(zone: string): ZoneOffset {
  const clock = new Intl.DateTimeFormat("en-US-u-ca-iso8601-hc-h23", {
    timeZone: zone,
    era: "short",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (seconds) => {
    const fields = new Map(clock.formatToParts(seconds * 1000).map(({ type, value }) => [type, value]));
    const field = (type: Intl.DateTimeFormatPartTypes): number => Number(fields.get(type));
    const year = fields.get("era") === "BC" ? 1 - field("year") : field("year");
    const wall = new Date(0);
    wall.setUTCFullYear(year, field("month") - 1, field("day"));
    wall.setUTCHours(field("hour"), field("minute"), field("second"));
    return wall.getTime() / 1000 - seconds;
  };
}
