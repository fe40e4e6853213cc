import { codePointsOf, complementOf, unionOf, type CodePoints } from "./code-points.ts";

/** The classes that Java writes as `\d`, `\h` …; RE2's `\s` lacks U+000B, and its `\v` is one character. */
const letters: ReadonlyMap<string, CodePoints> = new Map([
  ["d", codePointsOf("0-9")],
  ["w", codePointsOf("a-zA-Z0-9_")],
  ["s", codePointsOf(" \t\n\x0b\f\r")],
  ["h", codePointsOf(" \t\u00a0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000")],
  ["v", codePointsOf("\n\x0b\f\r\u0085\u2028\u2029")],
]);

const graph = codePointsOf("!-~");
const posix: ReadonlyMap<string, CodePoints> = new Map([
  ["Lower", codePointsOf("a-z")],
  ["Upper", codePointsOf("A-Z")],
  ["ASCII", codePointsOf("\0-\x7f")],
  ["Alpha", codePointsOf("a-zA-Z")],
  ["Digit", codePointsOf("0-9")],
  ["Alnum", codePointsOf("a-zA-Z0-9")],
  ["Punct", codePointsOf("!-/:-@[-`{-~")],
  ["Graph", graph],
  ["Print", unionOf([graph, codePointsOf(" ")])],
  ["Blank", codePointsOf(" \t")],
  ["Cntrl", codePointsOf("\0-\x1f\x7f")],
  ["XDigit", codePointsOf("0-9a-fA-F")],
  ["Space", codePointsOf(" \t\n\x0b\f\r")],
  ["L1", codePointsOf("\0-\u00ff")],
  ["all", complementOf([])],
]);

/** Line terminators, which `.` does not match. */
export const lineTerminators = codePointsOf("\n\r\u0085\u2028\u2029");

/** A class by the letter after the backslash. Undefined: there is none. */
export function letterClass(letter: string): CodePoints | undefined {
  const set = letters.get(letter.toLowerCase());
  return set !== undefined && letter !== letter.toLowerCase() ? complementOf(set) : set;
}

/** A class of Java that RE2 does not have under this name. */
export function propertyClass(name: string): CodePoints | undefined {
  return posix.get(name);
}

/**
 * The name that RE2 has for a Unicode category or script of Java: `IsLatin`, `script=Latin`, `Lu`, `gc=Lu`. Undefined: it
 * has none, as for blocks.
 */
export function unicodeName(name: string): string | undefined {
  const value = /^(?:Is|script=|sc=|general_category=|gc=)?([A-Z][A-Za-z_]*)$/.exec(name)?.[1];
  return value === undefined || /^(?:In|java)/.test(name) ? undefined : value;
}
