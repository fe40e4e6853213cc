import { setImmediate as nextTurn } from "node:timers/promises";
import type { RE2JS } from "re2js";
import { Fault, invalid } from "../lib/fault.ts";

/** Steps that one character of a name may cost. */
const LARGEST_PROGRAM = 1000;
const TURN_MS = 5;
/** Of work, in all turns together. */
const WORK_MS = 2000;

/**
 * The names in which the expression is found, in any case. Its engine never backtracks, others get their turn, and
 * nobody works on for who has gone.
 */
export async function filterNames(
  names: readonly string[],
  expression: string,
  signal: AbortSignal,
  workMs = WORK_MS,
): Promise<string[]> {
  const compiled = await compile(expression);
  const matching: string[] = [];
  let began = performance.now();
  let worked = 0;
  for (const name of names) {
    if (compiled.test(name)) matching.push(name);
    const turn = performance.now() - began;
    if (turn < TURN_MS) continue;
    worked += turn;
    if (worked > workMs) throw invalid("filter", "takes too long with so many names: make it simpler");
    await nextTurn();
    if (signal.aborted) throw new Fault("unavailable", "The server is about to stop. Try again.");
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
    // It shows the expression with a flag for any case before it, which nobody has sent.
    throw invalid("filter", `must be a regular expression in RE2 syntax: ${error.message.replace("`(?i)", "`")}`);
  }
  throw invalid("filter", "is too large once its repetitions are written out");
}
