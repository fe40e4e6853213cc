import { invalid, Fault } from "../../lib/fault.ts";
import type { MacroSandbox } from "../../engines/macro-sandbox/macro-sandbox.ts";
import { isRecord } from "../../lib/is-record.ts";

/** The values of `$name$` in the texts of a command, evaluated when it was submitted. */
export type MacroValues = ReadonlyMap<string, string>;

export const NO_MACROS: MacroValues = new Map();

/** A macro as submitted. */
export interface GivenMacro {
  name: string;
  expression: string;
}

/** Parses the column `macros`: an array with one object for each macro. */
export function givenMacros(macros: string | null): GivenMacro[] {
  if (macros === null) return [];
  const given = JSON.parse(macros) as Record<string, string>[]; // written by `givenMacrosJson`
  return given.flatMap((entry) => Object.entries(entry).map(([name, expression]) => ({ name, expression })));
}

export function givenMacrosJson(macros: readonly GivenMacro[]): string | null {
  return macros.length === 0 ? null : JSON.stringify(macros.map(({ name, expression }) => ({ [name]: expression })));
}

/** Parses the column `resolved_macros`: an array with one object for each macro. */
export function macroValues(resolvedMacros: string | null): MacroValues {
  if (resolvedMacros === null) return NO_MACROS;
  const resolved = JSON.parse(resolvedMacros) as Record<string, string>[]; // written by `resolvedMacrosOf`
  return new Map(resolved.flatMap((entry) => Object.entries(entry)));
}

export function resolvedMacrosOf(values: MacroValues): string | null {
  return values.size === 0 ? null : JSON.stringify([...values].map(([name, value]) => ({ [name]: value })));
}

export function namesMacro(text: string, values: MacroValues): boolean {
  return values.size > 0 && patternOf(values).test(text);
}

/**
 * Replaces each known `$x$` by its value; macros in values are not replaced. The length is counted before the text is built,
 * because a few kilobytes of `$x$` could expand to gigabytes.
 */
export function fillMacros(text: string, values: MacroValues, field: string, limitBytes: number): string {
  if (!namesMacro(text, values)) return text;
  const pattern = patternOf(values, "g");
  const added = new Map([...values].map(([name, value]) => [name, Buffer.byteLength(value) - `$${name}$`.length]));
  let bytes = Buffer.byteLength(text);
  for (const [, name = ""] of text.matchAll(pattern)) bytes += added.get(name) ?? 0;
  if (bytes > limitBytes) throw invalid(field, `must have at most ${limitBytes} bytes after its macros are filled in`);
  return text.replaceAll(pattern, (_match, name: string) => values.get(name) ?? "");
}

/** A part of a text, as written and with its macro filled in. */
export interface TextPiece {
  written: string;
  filled: string;
  /** The macro that the part refers to. Null: it is ordinary text. */
  macro: string | null;
}

/** Splits the text at its macros. */
export function macroPieces(text: string, values: MacroValues): TextPiece[] {
  const ordinary = (part: string): TextPiece[] => (part === "" ? [] : [{ written: part, filled: part, macro: null }]);
  if (!namesMacro(text, values)) return ordinary(text);
  const pieces: TextPiece[] = [];
  let at = 0;
  for (const { 0: written, 1: macro = "", index } of text.matchAll(patternOf(values, "g"))) {
    pieces.push(...ordinary(text.slice(at, index)), { written, filled: values.get(macro) ?? "", macro });
    at = index + written.length;
  }
  return [...pieces, ...ordinary(text.slice(at))];
}

/** Names are identifiers, so they need no escaping in a pattern. */
function patternOf(values: MacroValues, flags = ""): RegExp {
  return new RegExp(`\\$(${[...values.keys()].join("|")})\\$`, flags);
}

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
    const reason = mayHoldSecrets ? REASON_WITHHELD : outcome.reason;
    throw invalid(`macros.${outcome.name}`, `cannot be evaluated: ${reason}`);
  }
  return new Map(macros.map(({ name }, at) => [name, storable(name, outcome.values[at] ?? "")]));
}

const REASON_WITHHELD = "the reason is not shown, because macros of a copy may contain keys. Text needs quotes: 'text'";

function storable(name: string, value: string): string {
  if (value.includes("\u0000") || !value.isWellFormed()) {
    throw invalid(`macros.${name}`, "must have a value that is well-formed Unicode without U+0000");
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
  if (twice !== undefined) throw invalid("macros", `must not define ${twice} twice`);
  return macros;
}

function parseEntry(entry: unknown): GivenMacro[] {
  if (!isRecord(entry)) throw invalid("macros", "must be an array of objects");
  const given = Object.entries(entry).filter(([, value]) => value !== null);
  return given.map(([name, value]) => {
    if (!NAME.test(name))
      throw invalid("macros", "must have variable names of letters, digits and _, not beginning with a digit");
    const expression = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
    if (typeof expression !== "string" || expression.trim() === "") {
      throw invalid("macros", `must have a non-empty text as the expression of ${name}`);
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
