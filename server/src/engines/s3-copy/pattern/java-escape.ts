import { complementOf, type CodePoints } from "./code-points.ts";
import { letterClass, propertyClass, unicodeName } from "./named-classes.ts";
import { cannotTranslate, type PatternText } from "./pattern-text.ts";

/** The meaning of an escape that stands for characters. */
export type Escape =
  | { readonly kind: "character"; readonly codePoint: number }
  | { readonly kind: "set"; readonly set: CodePoints }
  /** A class that only RE2 knows, in its syntax. */
  | { readonly kind: "property"; readonly source: string };

const controls: ReadonlyMap<string, number> = new Map([
  ["t", 0x09],
  ["n", 0x0a],
  ["f", 0x0c],
  ["r", 0x0d],
  ["a", 0x07],
  ["e", 0x1b],
]);

/** Reads the escape at the position of the text, which is after the backslash. */
export function readEscape(text: PatternText): Escape {
  const letter = text.take();
  if (letter === "") throw text.problem("ends with a backslash");
  if (!/[A-Za-z0-9]/.test(letter)) return character(letter.codePointAt(0) ?? 0);
  const control = controls.get(letter);
  if (control !== undefined) return character(control);
  const set = letterClass(letter);
  if (set !== undefined) return { kind: "set", set };
  switch (letter) {
    case "p":
    case "P":
      return readProperty(text, letter);
    case "0":
      return character(Number.parseInt(text.match(/[0-3]?[0-7]{1,2}/y, "octal digits after \\0"), 8));
    case "x":
      return character(readHex(text));
    case "u":
      return character(readUtf16(text));
    case "c":
      return character((text.match(/[\x20-\x7e]/y, "a control character after \\c").codePointAt(0) ?? 0) ^ 64);
    default:
      throw unknownEscape(letter);
  }
}

function character(codePoint: number): Escape {
  return { kind: "character", codePoint };
}

function unknownEscape(letter: string): Error {
  if (/[1-9k]/.test(letter)) return cannotTranslate(`a back-reference (\\${letter})`);
  return cannotTranslate(`the escape \\${letter}`);
}

function readHex(text: PatternText): number {
  const digits = text.match(/[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]{1,6}\}/y, "two hexadecimal digits or {…} after \\x");
  const codePoint = Number.parseInt(digits.replace(/[{}]/g, ""), 16);
  if (codePoint > 0x10ffff) throw text.problem("has a \\x{…} that is larger than 10FFFF");
  return codePoint;
}

/** Two escapes can be one character. */
function readUtf16(text: PatternText): number {
  const first = Number.parseInt(text.match(/[0-9A-Fa-f]{4}/y, "four hexadecimal digits after \\u"), 16);
  if (first < 0xd800 || first > 0xdbff) return first;
  const second = text.tryMatch(/\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}/y)?.slice(2);
  if (second === undefined) throw text.problem("has half of a surrogate pair");
  return (String.fromCharCode(first) + String.fromCharCode(Number.parseInt(second, 16))).codePointAt(0) ?? 0;
}

function readProperty(text: PatternText, letter: "p" | "P"): Escape {
  const written = text.match(/\{\^?[\w=]+\}|[A-Z]/y, "a name after \\p");
  const name = written.replace(/[{}]/g, "");
  const set = propertyClass(name);
  if (set !== undefined) {
    return { kind: "set", set: letter === "p" ? set : complementOf(set) };
  }
  const known = unicodeName(name);
  if (known === undefined) throw cannotTranslate(`the class \\${letter}{${name}}`);
  return { kind: "property", source: `\\${letter}{${known}}` };
}
