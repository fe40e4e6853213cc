/**
 * Patterns are regular expressions of RE2, but many were written for S3DistCp, which has those of Java. Syntax of Java
 * that RE2 does not have is named in the error, and syntax that RE2 would silently read in another way is refused, too.
 *
 * These differences are not refused, because they hardly matter in addresses of files: `.`, `^` and `$` know no line end
 * but `\n`, `\s` is without U+000B, `\b` knows only the letters of ASCII (as in Java from 19 on), and `(?i)` all letters.
 */
import { shownValue } from "../../../lib/shown-value.ts";

type Construct = readonly [expression: RegExp, name: string];

/** Escapes and quotations that mean the same in both. */
const COMMON_ESCAPE = /\\(?:Q[^]*?\\E|[pP]\{\w+\}|x\{\w+\}|b(?!\{)|[adfnrstwxzABDSWpP]|[^A-Za-z0-9])/g;

const inClassesOrNot: readonly Construct[] = [
  [/\\(?:[1-9]|k(?:<\w+>)?)/, "a back-reference"],
  [/\\Q/, String.raw`a quotation without \E`],
  [/\\(?:[pPN]\{.*?\}|b\{|u\w{4}|[^])/, "an escape of Java"],
  [/\[\^?\]?[^\][]*\[/, "a class inside a class"],
  [/\[\^?\]?[^\][]*&&/, "an intersection of classes"],
];

const CLASS = /\[\^?\]?[^\]]*\]/g;

const outsideClasses: readonly Construct[] = [
  [/\(\?[=!]/, "a lookahead"],
  [/\(\?<[=!]/, "a lookbehind"],
  [/\(\?>/, "an atomic group"],
  [/\(\?[ims-]*[duxU]/, "a flag of Java"],
  [/\(\?[ims-]*\)\{/, "a repetition of flags"],
  [/(?:[*+?]|\{\d+(?:,\d*)?\})\+/, "a possessive quantifier"],
  [/\{(?!(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*)?)?\})/, "a brace that is no repetition"],
];

/** Names the first construct that RE2 does not have or reads differently. Null: there is none. */
export function findJavaSyntax(source: string): string | null {
  const withoutEscapes = source.replaceAll(COMMON_ESCAPE, "_");
  const withoutClasses = withoutEscapes.replaceAll(CLASS, "_");
  return findConstruct(inClassesOrNot, withoutEscapes) ?? findConstruct(outsideClasses, withoutClasses);
}

function findConstruct(constructs: readonly Construct[], text: string): string | null {
  for (const [expression, name] of constructs) {
    const [found] = expression.exec(text) ?? [];
    if (found !== undefined) return `${name} (\`${shownValue(found)}\`)`;
  }
  return null;
}
