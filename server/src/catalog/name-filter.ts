import { setImmediate as nextTurn } from "node:timers/promises";
import type { RE2JS } from "re2js";
import { Fault, invalid } from "../lib/fault.ts";

/** Bounds the steps for each character of a name. */
const LARGEST_PROGRAM = 1000;
const TURN_MS = 5;
/** CPU time of all turns together. */
const WORK_MS = 2000;

/**
 * Returns the names that the expression matches anywhere, ignoring case. RE2 never backtracks; the work is split into
 * short turns of the event loop and stops when the client disconnects.
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
    if (worked > workMs) throw invalid("filter", "takes too long for this many names: use a simpler expression");
    await nextTurn();
    if (signal.aborted) throw new Fault("unavailable", "The server is about to stop. Try again.");
    began = performance.now();
  }
  return matching;
}

async function compile(expression: string): Promise<RE2JS> {
  // Loaded when the first filter is used.
  const { RE2JS, RE2JSException } = await import("re2js");
  try {
    const compiled = RE2JS.compile(expression, RE2JS.CASE_INSENSITIVE);
    if (compiled.programSize() <= LARGEST_PROGRAM) return compiled;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    // The message quotes the expression with the flag for ignoring case, which the user has not sent.
    throw invalid("filter", `must be a regular expression in RE2 syntax: ${error.message.replace("`(?i)", "`")}`);
  }
  throw invalid("filter", "is too large when its repetitions are expanded: use fewer or smaller ones");
}
