import { Fault } from "../lib/fault.ts";
import { jsonProblem } from "./json-problem.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
const MAX_DEPTH = 64;

/** An empty body is an empty object; everything else must be JSON in UTF-8. */
export function jsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (error) {
    throw new Fault("malformed", "The body is not valid UTF-8.", { cause: error });
  }
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Fault("malformed", `The body is not valid JSON: ${jsonProblem(text, error)}.`, { cause: error });
  }
  if (isDeeperThan(value, MAX_DEPTH))
    throw new Fault("malformed", `The body is nested deeper than ${MAX_DEPTH} levels.`);
  return value;
}

/** Limits the nesting, because the later passes over the value are recursive. */
function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depth === 0) return true;
  return Object.values(value).some((inner) => isDeeperThan(inner, depth - 1));
}
