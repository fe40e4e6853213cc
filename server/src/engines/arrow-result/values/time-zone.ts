import type { ZoneOffset } from "./calendar-text.ts";

/** Names that java.time knows besides (`ZoneId.SHORT_IDS`). */
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
const DAY = 86_400;
/** After 400 years the calendar, its week days and so the rules of daylight saving repeat. */
const CYCLE = 146_097 * DAY;
/** Where the rules of every zone have become regular, or have not begun: within the range of a JavaScript date. */
const [REGULAR_FROM, REGULAR_TO] = [-8_000_000_000, 200_000_000_000];
const KEPT_DAYS = 50_000;

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
  /** The first second with the second of them. */
  readonly change: number;
}

/** Asking for an offset is slow, so each day is asked for once. */
function regionOffset(zone: string): ZoneOffset {
  const ask = askOffset(zone);
  const days = new Map<number, OffsetsOfDay>();
  let [lastDay, last]: [number, OffsetsOfDay | undefined] = [NaN, undefined];
  return (seconds) => {
    const moment = intoRegular(seconds);
    const day = Math.floor(moment / DAY);
    if (day !== lastDay || last === undefined) {
      last = days.get(day);
      if (last === undefined) {
        last = offsetsOf(day, ask);
        if (days.size >= KEPT_DAYS) days.clear();
        days.set(day, last);
      }
      lastDay = day;
    }
    return moment < last.change ? last.before : last.after;
  };
}

function intoRegular(seconds: number): number {
  if (seconds < REGULAR_FROM) return REGULAR_FROM;
  return seconds > REGULAR_TO ? seconds - Math.ceil((seconds - REGULAR_TO) / CYCLE) * CYCLE : seconds;
}

/** No zone has ever changed its offset twice within a day. */
function offsetsOf(day: number, ask: ZoneOffset): OffsetsOfDay {
  let [low, high] = [day * DAY, (day + 1) * DAY];
  const [before, after] = [ask(low), ask(high)];
  if (before === after) return { before, after, change: low };
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (ask(middle) === before) low = middle;
    else high = middle;
  }
  return { before, after, change: high };
}

/** By the wall clock that Intl shows: it is exact to the second, also where offsets were not whole minutes. */
function askOffset(zone: string): ZoneOffset {
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
