/**
 * Whether Spark can parse a text as a value of a column's type. The value in a folder's name becomes that of every row
 * in it, and one that cannot be parsed makes queries fail. Pure.
 */
export function isValueOf(type: string, text: string): boolean {
  const [, name = "", parameters = ""] = /^\s*([a-z_]+)\s*(?:\((.*)\))?/i.exec(type) ?? [];
  return RULES.get(name.toLowerCase())?.(trimmed(text), parameters) ?? true;
}

/** Spark trims ASCII blanks and control characters, and no others. */
function trimmed(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are trimmed on purpose
  return text.replace(/^[\u0000-\u0020\u007f]+/, "").replace(/[\u0000-\u0020\u007f]+$/, "");
}

type Rule = (text: string, parameters: string) => boolean;

/** Types that are not listed accept any text. */
const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["tinyint", (text) => isInteger(text, 8)],
  ["smallint", (text) => isInteger(text, 16)],
  ["int", (text) => isInteger(text, 32)],
  ["integer", (text) => isInteger(text, 32)],
  ["bigint", (text) => isInteger(text, 64)],
  ["float", isFloat],
  ["double", isFloat],
  ["decimal", isDecimal],
  ["boolean", (text) => /^(?:t|true|y|yes|1|f|false|n|no|0)$/i.test(text)],
  ["date", (text) => isDate(text) || isDate(/^(.*?-.*?-.*?)[ T]/s.exec(text)?.[1] ?? "")],
  ["timestamp", isTimestamp],
  ["timestamp_ntz", isTimestamp],
  ["timestamp_ltz", isTimestamp],
]);

function isInteger(text: string, bits: number): boolean {
  if (!/^[+-]?\d{1,100}$/.test(text)) return false;
  const value = BigInt(text.replace(/^\+/, ""));
  return BigInt.asIntN(bits, value) === value;
}

const NUMBER = /^[+-]?(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,5}))?$/i;

/** As Java parses them, with its suffixes `d` and `f`. */
function isFloat(text: string): boolean {
  const number = text.replace(/(?<=[\d.])[df]$/i, "");
  return (NUMBER.test(number) && /^[+-]?\.?\d/.test(number)) || /^(?:nan|[+-]?inf(?:inity)?)$/i.test(text);
}

/** Excess digits after the decimal point are rounded; before the point they are an overflow. */
function isDecimal(text: string, parameters: string): boolean {
  const [, whole = "", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  if (whole === "" && fraction === "") return false;
  const [precision = 0, scale = 0] = (parameters || "10").split(",").map(Number);
  const digits = (whole + fraction).replace(/^0+/, "");
  // The number of digits in units of the last decimal place, before rounding.
  const shift = Number(exponent) - fraction.length + scale;
  const length = digits.length + shift;
  if (digits === "" || length < precision) return true;
  return length === precision && roundedUp(BigInt(digits), shift) < 10n ** BigInt(precision);
}

/** Rounds half up. */
function roundedUp(digits: bigint, shift: number): bigint {
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const unit = 10n ** BigInt(-shift);
  return (digits + unit / 2n) / unit;
}

/** `2026`, `2026-11` or `2026-11-15`: a missing month or day is the first. */
function isDate(text: string): boolean {
  const [, year, month = "1", day = "1"] = /^[+-]?(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2}))?)?$/.exec(text) ?? [];
  if (year === undefined) return false;
  const [monthNumber, dayNumber] = [Number(month), Number(day)];
  return monthNumber >= 1 && monthNumber <= 12 && dayNumber >= 1 && dayNumber <= daysIn(Number(year), monthNumber);
}

function daysIn(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (month === 2) return isLeap ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function isTimestamp(text: string): boolean {
  const [, date = "", time] = /^([^ T]*)(?:[ T](.*))?$/s.exec(text) ?? [];
  return isDate(date) && (time === undefined || isTimeOfDay(time));
}

/** A time zone may follow. */
function isTimeOfDay(text: string): boolean {
  const [, hour, minute = "0", second = "0", zone = "Z"] =
    /^(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d*)?)?)?\s*([A-Za-z+-][A-Za-z0-9+:/_-]*)?$/.exec(text) ?? [];
  return hour !== undefined && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60 && isZone(zone);
}

const OFFSET = /^(?:Z|(?:UTC|GMT|UT)?[+-]\d{1,2}(?::?\d{1,2}(?::?\d{2})?)?)$/;
/** Java's short names. */
const SHORT_ZONES = new Set(
  (
    "ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT EST HST IET IST JST MIT MST NET NST PLT PNT PRT PST SST UT " +
    "VST"
  ).split(" "),
);

function isZone(name: string): boolean {
  if (OFFSET.test(name) || SHORT_ZONES.has(name)) return true;
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}
