import { setImmediate as nextTurn } from "node:timers/promises";
import type { RE2JS } from "re2js";
import { invalid } from "../lib/fault.ts";

/** Steps that one character of a name may cost. */
const LARGEST_PROGRAM = 5000;
const TURN_MS = 5;

/** The names in which the expression is found, in any case. Its engine never backtracks, and others get their turn. */
export async function filterNames(names: readonly string[], expression: string): Promise<string[]> {
  const compiled = await compile(expression);
  const matching: string[] = [];
  let began = performance.now();
  for (const name of names) {
    if (compiled.test(name)) matching.push(name);
    if (performance.now() - began < TURN_MS) continue;
    await nextTurn();
    began = performance.now();
  }
  return matching;
}

async function compile(expression: string): Promise<RE2JS> {
  // Loaded with the first filter.
  const { RE2JS, RE2JSException } = await import("re2js");
  try {
    const compiled = RE2JS.compile(expression, RE2JS.CASE_INSENSITIVE);
    if (compiled.programSize() <= LARGEST_PROGRAM) return compiled;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw invalid("filter", `must be a regular expression in RE2 syntax: ${error.message}`);
  }
  throw invalid("filter", "is too large once its repetitions are written out");
}
