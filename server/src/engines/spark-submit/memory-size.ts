import { invalid } from "../../lib/fault.ts";

const mebibytes: Readonly<Record<string, number>> = {
  b: 2 ** -20,
  k: 2 ** -10,
  m: 1,
  g: 2 ** 10,
  t: 2 ** 20,
  p: 2 ** 30,
};

/** Parses `spark.driver.memory` like Spark: a whole number and a unit; without a unit, mebibytes. */
export function parseMemoryMiB(text: string, field: string): number {
  const [, digits, unit = "m"] =
    /^(\d{1,15})([bkmgtp])?$/.exec(
      text
        .trim()
        .toLowerCase()
        .replace(/([kmgtp])b$/, "$1"),
    ) ?? [];
  const size = Number(digits) * (mebibytes[unit] ?? Number.NaN);
  if (digits === undefined || !(size >= 1) || size > 2 ** 30) {
    throw invalid(field, `has the memory size ${JSON.stringify(text)}, which is not one such as 512m or 2g`);
  }
  return Math.floor(size);
}
