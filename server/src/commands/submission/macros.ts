import { invalid } from "../../lib/fault.ts";

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
  let bytes = Buffer.byteLength(text);
  for (const [match, name = ""] of text.matchAll(pattern)) {
    bytes += Buffer.byteLength(values.get(name) ?? "") - match.length;
  }
  if (bytes > limitBytes) throw invalid(field, `is over ${limitBytes} bytes with its macros filled in`);
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
