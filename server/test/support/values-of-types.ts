/** Texts that Spark accepts as values of a type, and texts that it does not. */
type Values = readonly (readonly [type: string, ...values: string[]])[];

const YES: Values = [
  ["tinyint", "0", "-128", "127", " 7 "],
  ["smallint", "32767", "+1"],
  ["int", "07", "-2147483648", "2147483647"],
  ["bigint", "9223372036854775807", "-9223372036854775808"],
  ["float", "1.5", "1e3", ".5", "5.", "NaN", "-Infinity", "inf"],
  ["double", "-1.5E-10", "1.5d", "2F"],
  ["decimal(4,2)", "99.99", "1", "-0.001", "00012.5", "1e1", "99.994"],
  ["decimal", "1234567890"],
  ["boolean", "true", "F", "no", "1"],
  ["int", "\t7\n"],
  ["date", "2026-11-15 x", "2026-11-15T", " 2026 "],
  ["date", "2026-11-15", "2024-02-29", "2026-1-5", "2026", "2026-11", "2026-11-15 10:00:00", "2026-11-15T00"],
  ["timestamp", "2026-11-15 10:00:00", "2026-11-15", "2026-11-15T10:00:00.123456Z", "2026-11-15 1:2:3 Europe/Berlin"],
  ["timestamp", "2026-11-15 10:00:00+01:00", "2026-11-15 10:00:00 PST"],
  ["timestamp_ntz", "2026-11-15 23:59:59.0"],
  ["string", "", "anything", "2026-13-45"],
  ["varchar(3)", "longer than that"],
  ["char(2)", "x"],
  ["binary", "ÿ"],
];

const NO: Values = [
  ["tinyint", "128", "-129", "abc"],
  ["smallint", "32768"],
  ["int", "abc", "", "1.5", "2147483648", "0x1", "1_000", "9".repeat(200)],
  ["bigint", "9223372036854775808", "--1"],
  ["float", "", ".", "e5", "one", "d", "1dd", "nanf"],
  ["decimal(4,2)", "100", "abc", "1e2", ".", "99.995", "1d", "1e99999"],
  ["boolean", "maybe", ""],
  ["int", "\u00a07", "7\u2003"],
  ["date", "2026 x", "2026-11 x", "2026T", "\u00a02026-11-15"],
  ["date", "2026-13-45", "2026-02-29", "2026-11-31", "15.11.2026", "26-11-15", "today", "2026-00-10", "2026-11-00"],
  ["timestamp", "2026-11-15 24:00:00", "2026-11-15 10:60:00", "10:00:00", "2026-02-30 10:00:00", "now"],
  ["timestamp", "2026-11-15 10:00:00 Nowhere"],
];

const pairs = (table: Values): [string, string][] =>
  table.flatMap(([type, ...values]) => values.map((value): [string, string] => [type, value]));

export const VALUES = pairs(YES);
export const NO_VALUES = pairs(NO);
