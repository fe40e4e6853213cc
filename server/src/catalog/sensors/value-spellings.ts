/**
 * The ways in which a metastore may spell a value of a partition column. Pure. A partition that a query writes has the
 * type's canonical spelling; one that was found as a folder has the folder's. So `07` of an `int` is looked up as `7`
 * and as `07`.
 */
import { noValue } from "../../engines/hive-thrift/partition-name.ts";

export type GivenValue = string | number | boolean | null;

/** The canonical spellings first, the given one last. Undefined: it is no value of that type. */
export function spellings(type: string, value: GivenValue): readonly string[] | undefined {
  if (value === null || value === "" || value === noValue) return [noValue];
  const given = String(value);
  const [, name = "", ...sizes] = /^(\w+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?/.exec(type.toLowerCase()) ?? [];
  const [size, scale] = sizes.map((digits) => (digits === undefined ? undefined : Number(digits)));
  const printed = PRINTED.get(name);
  const typed = printed === undefined ? [] : printed(given.trim(), { size, scale });
  return typed === undefined ? undefined : [...new Set([...typed.filter((text) => text !== given), given])];
}

/** Describes the values of a type in an error message. */
export function exampleOf(type: string): string {
  return EXAMPLES.find(([types]) => types.test(type))?.[1] ?? "a value of its type";
}

interface Sizes {
  readonly size: number | undefined;
  readonly scale: number | undefined;
}

type Print = (given: string, sizes: Sizes) => readonly string[] | undefined;

/** A map, not an object: the name of a type comes from the table and may be `constructor`. */
const PRINTED: ReadonlyMap<string, Print> = new Map<string, Print>([
  ["tinyint", wholeNumber],
  ["smallint", wholeNumber],
  ["int", wholeNumber],
  ["integer", wholeNumber],
  ["bigint", wholeNumber],
  ["date", date],
  ["timestamp", timestamp],
  ["boolean", boolean],
  ["decimal", decimal],
  ["float", floating],
  ["double", floating],
  ["char", char],
]);

/** Hive's limits. A table may claim more, but must not make us build strings of that size. */
const LONGEST_CHAR = 255;
const LARGEST_SCALE = 38;

const EXAMPLES: readonly (readonly [RegExp, string])[] = [
  [/int/i, "a whole number"],
  [/date/i, "a date, YYYY-MM-DD"],
  [/boolean/i, "true or false"],
  [/decimal|float|double/i, "a number"],
];

function wholeNumber(given: string): readonly string[] | undefined {
  return /^[+-]?\d{1,30}$/.test(given) ? [BigInt(given.replace(/^\+/, "")).toString()] : undefined;
}

function date(given: string): readonly string[] | undefined {
  const [, year = "", month = "", day = ""] = /^(\d{4,7})-(\d{1,2})-(\d{1,2})(?:[ T].*)?$/.exec(given) ?? [];
  const [m, d] = [month.padStart(2, "0"), day.padStart(2, "0")];
  const isCalendarDay = Number(d) >= 1 && Number(d) <= new Date(Date.UTC(Number(year), Number(m), 0)).getUTCDate();
  return Number(m) >= 1 && Number(m) <= 12 && isCalendarDay ? [`${year}-${m}-${d}`] : undefined;
}

/**
 * In the time zone of the session that wrote it, so zones are ignored. Accepts any text: there are too many formats.
 */
function timestamp(given: string): readonly string[] {
  const [, day = "", time = "00:00:00", fraction = ""] =
    /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2})(?:\.(\d+))?)?$/.exec(given) ?? [];
  if (day === "") return [];
  const digits = fraction.replace(/0+$/, "");
  return digits === "" ? [`${day} ${time}`, `${day} ${time}.0`] : [`${day} ${time}.${digits}`];
}

const BOOLEANS: ReadonlyMap<string, string> = new Map([
  ...["true", "t", "yes", "y", "1"].map((word): [string, string] => [word, "true"]),
  ...["false", "f", "no", "n", "0"].map((word): [string, string] => [word, "false"]),
]);

function boolean(given: string): readonly string[] | undefined {
  const word = BOOLEANS.get(given.toLowerCase());
  return word === undefined ? undefined : [word];
}

function char(given: string, { size = 0 }: Sizes): readonly string[] {
  return size > LONGEST_CHAR ? [] : [given.padEnd(size), given.trimEnd()];
}

/** Spark prints all digits of the scale, Hive drops trailing zeros. */
function decimal(given: string, { scale = 0 }: Sizes): readonly string[] | undefined {
  const [all, sign, leading, fraction = ""] =
    /^([+-]?)(?=\.?\d)0*(\d{0,40})(?:\.(\d{0,40}))?$/.exec(withoutExponent(given)) ?? [];
  if (all === undefined) return undefined;
  if (scale > LARGEST_SCALE) return [];
  const whole = leading === undefined || leading === "" ? "0" : leading;
  const digits = fraction.replace(/0+$/, "");
  const minus = sign === "-" && /[1-9]/.test(whole + digits) ? "-" : "";
  const withPoint = (decimals: string): string => `${minus}${whole}${decimals === "" ? "" : `.${decimals}`}`;
  return [withPoint(digits.padEnd(scale, "0")), withPoint(digits)];
}

/** JavaScript writes small numbers with an exponent: `0.0000001` as `1e-7`. */
function withoutExponent(given: string): string {
  const [, sign = "", whole = "", fraction = "", exponent] =
    /^([+-]?)(?=\.?\d)(\d{0,40})(?:\.(\d{0,40}))?e([+-]?\d{1,2})$/i.exec(given) ?? [];
  if (exponent === undefined) return given;
  const point = whole.length + Number(exponent);
  const digits = "0".repeat(Math.max(0, -point)) + whole + fraction;
  return `${sign}${digits.slice(0, Math.max(0, point)).padEnd(point, "0")}.${digits.slice(Math.max(0, point))}`;
}

const FLOATING = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** As Java prints them: always with a decimal point, and with an exponent from ten million on. */
function floating(given: string): readonly string[] | undefined {
  if (/^(NaN|[+-]?Infinity)$/.test(given)) return [];
  const number = FLOATING.test(given) ? Number(given) : Number.NaN;
  if (!Number.isFinite(number)) return undefined;
  const size = Math.abs(number);
  if (size === 0 || (size >= 1e-3 && size < 1e7)) return [withFraction(String(number))];
  const [mantissa = "", exponent = ""] = number.toExponential().split("e");
  return [`${withFraction(mantissa)}E${Number(exponent)}`];
}

function withFraction(digits: string): string {
  return digits.includes(".") ? digits : `${digits}.0`;
}
