import { invalid } from "../../lib/fault.ts";

/** Settings whose invalid values Spark would refuse only at the start of the program, with the smallest valid value. */
const sizes: ReadonlyMap<string, number> = new Map([
  ["--driver-memory", 1],
  ["--executor-memory", 1],
  ["spark.driver.maxResultSize", 0],
  ["spark.driver.memory", 1],
  ["spark.driver.memoryOverhead", 0],
  ["spark.executor.memory", 1],
  ["spark.executor.memoryOverhead", 0],
  ["spark.executor.pyspark.memory", 0],
  ["spark.kryoserializer.buffer", 0],
  ["spark.kryoserializer.buffer.max", 0],
  ["spark.memory.offHeap.size", 0],
  ["spark.yarn.am.memory", 1],
]);

/** The number of executors may be 0, because with dynamic allocation a program may begin without any. */
const counts: ReadonlyMap<string, number> = new Map([
  ["--driver-cores", 1],
  ["--executor-cores", 1],
  ["--num-executors", 0],
  ["--total-executor-cores", 1],
  ["spark.cores.max", 1],
  ["spark.driver.cores", 1],
  ["spark.executor.cores", 1],
  ["spark.executor.instances", 0],
  ["spark.task.cpus", 1],
]);

const SIZE = /^(\d{1,15})([kmgtp]?b|[kmgtp])?$/i;
const COUNT = /^(\d{1,10})$/;
const LARGEST_COUNT = 2_147_483_647;

export function checkValue(name: string, value: string, field: string): void {
  const [minSize, minCount] = [sizes.get(name), counts.get(name)];
  if (minSize !== undefined && !(numberIn(value, SIZE) >= minSize)) {
    throw invalid(field, `has ${name} ${quoted(value)}, which is not a size such as 512m or 2g`);
  }
  const count = numberIn(value, COUNT);
  if (minCount !== undefined && !(count >= minCount && count <= LARGEST_COUNT)) {
    throw invalid(field, `has ${name} ${quoted(value)}, which is not a whole number of at least ${minCount}`);
  }
}

function numberIn(value: string, pattern: RegExp): number {
  return Number(pattern.exec(value.trim())?.[1] ?? Number.NaN);
}

const SHOWN_LENGTH = 100;

/** Quotes and shortens a text for a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text);
}

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
