import { invalid } from "../../lib/fault.ts";
import { isRecord } from "../../http/lenient.ts";
import type { GivenMacro } from "./macros.ts";

export const MAX_MACROS = 100;
export const MAX_EXPRESSION_LENGTH = 10_000;
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** §4.2: an array of objects, each with one variable or several, or the same as JSON text. */
export function parseMacros(given: unknown): GivenMacro[] {
  const list = typeof given === "string" ? parseJson(given) : (given ?? []);
  if (!Array.isArray(list)) throw invalid("macros", "must be an array of objects, or JSON text of one");
  const macros = list.flatMap(parseEntry);
  if (macros.length > MAX_MACROS) throw invalid("macros", `must have at most ${MAX_MACROS} variables`);
  const names = macros.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw invalid("macros", `must not have ${twice} twice`);
  return macros;
}

function parseEntry(entry: unknown): GivenMacro[] {
  if (!isRecord(entry)) throw invalid("macros", "must be an array of objects");
  const given = Object.entries(entry).filter(([, value]) => value !== null);
  return given.map(([name, value]) => {
    if (!NAME.test(name)) throw invalid("macros", "must have identifiers of letters, digits and _ as variables");
    const expression = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
    if (typeof expression !== "string" || expression.trim() === "") {
      throw invalid("macros", `must have a text as the expression of ${name}`);
    }
    if (expression.length > MAX_EXPRESSION_LENGTH) {
      throw invalid("macros", `must have at most ${MAX_EXPRESSION_LENGTH} characters in the expression of ${name}`);
    }
    if (expression.includes("\u0000") || !expression.isWellFormed()) {
      throw invalid("macros", `must have well-formed Unicode without U+0000 as the expression of ${name}`);
    }
    return { name, expression };
  });
}

function parseJson(text: string): unknown {
  if (text.trim() === "") return [];
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may contain a key.
    throw invalid("macros", `must be JSON, such as [{"name": "expression"}]`);
  }
}
