import type { MacroSandbox } from "../../engines/macro-sandbox/macro-sandbox.ts";
import { Fault, invalid } from "../../lib/fault.ts";
import { NO_MACROS, type GivenMacro, type MacroValues } from "./macros.ts";
import { isRecord } from "../../http/lenient.ts";

/** `mayHoldSecrets`: the error does not say why a macro fails, because the interpreter's message quotes the expression. */
export async function evaluateMacros(
  sandbox: MacroSandbox,
  accountId: number,
  macros: readonly GivenMacro[],
  mayHoldSecrets: boolean,
): Promise<MacroValues> {
  if (macros.length === 0) return NO_MACROS;
  const outcome = await sandbox.evaluate(macros, String(accountId));
  if (outcome === undefined) {
    throw new Fault("unavailable", "Too many submissions with macros are being processed. Try again shortly.", {
      retryAfterSeconds: 1,
    });
  }
  if (outcome.kind === "failed") {
    const reason = mayHoldSecrets ? REASON_UNSAID : outcome.reason;
    throw invalid("macros", `${outcome.name} does not evaluate: ${reason}`);
  }
  return new Map(macros.map(({ name }, at) => [name, storable(name, outcome.values[at] ?? "")]));
}

const REASON_UNSAID = "the reason is not shown, because macros of a copy may contain keys. Text needs quotes: 'text'";

function storable(name: string, value: string): string {
  if (value.includes("\u0000") || !value.isWellFormed()) {
    throw invalid("macros", `${name} does not evaluate: it gives no well-formed Unicode without U+0000`);
  }
  return value;
}

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
