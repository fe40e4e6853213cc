import { invalid } from "../lib/fault.ts";

/** `$name$` in the texts of a command. Pure: the values were found by the sandbox when the command was submitted. */
export type MacroValues = ReadonlyMap<string, string>;

export const NO_MACROS: MacroValues = new Map();

/** As stored in `resolved_macros`: an array of one object a macro. */
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
 * Unknown `$x$` stays as it is, and a value is not searched again. The length is counted before the text is built: a
 * few kilobytes of `$x$` could ask for gigabytes.
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

/** Names are identifiers, so they stand in a pattern as they are. */
function patternOf(values: MacroValues, flags = ""): RegExp {
  return new RegExp(`\\$(${[...values.keys()].join("|")})\\$`, flags);
}
