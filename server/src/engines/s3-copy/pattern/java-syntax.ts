/**
 * Patterns use the syntax of RE2, but many were written for S3DistCp, which uses Java's. Java syntax that RE2 lacks, or
 * would silently read in another way, is refused, and the error names it.
 *
 * These differences are not refused, because they hardly matter in addresses of files: `.`, `^` and `$` treat only `\n` as
 * a line end, `\s` does not match U+000B, `\b` treats only ASCII letters as letters (as Java does from 19 on), and `(?i)`
 * ignores the case of all letters.
 */
import { shownValue } from "../../../lib/shown-value.ts";

type Construct = readonly [expression: RegExp, name: string];

/** Escapes and quotations that mean the same in both. */
const COMMON_ESCAPE = /\\(?:Q[^]*?\\E|[pP]\{\w+\}|x\{\w+\}|b(?!\{)|[adfnrstwxzABDSWpP]|[^A-Za-z0-9])/g;

const anywhere: readonly Construct[] = [
  [/\\(?:[1-9]|k(?:<\w+>)?)/, "a back-reference"],
  [/\\Q/, String.raw`an unterminated \Q`],
  [/\\(?:[pPN]\{.*?\}|b\{|u\w{4}|[0GHRVXZcehkuv])/, "a Java escape"],
  [/\[\^?\]?[^\][]*\[/, "a class inside a class"],
  [/\[\^?\]?[^\][]*&&/, "an intersection of classes"],
];

const CLASS = /\[\^?\]?[^\]]*\]/g;

const outsideClasses: readonly Construct[] = [
  [/\(\?[=!]/, "a lookahead"],
  [/\(\?<[=!]/, "a lookbehind"],
  [/\(\?>/, "an atomic group"],
  [/\(\?[ims-]*[duxU]/, "a Java flag"],
  [/\(\?[ims-]*\)\{/, "a quantifier after flags"],
  [/(?:[*+?]|\{\d+(?:,\d*)?\})\+/, "a possessive quantifier"],
  [/\{(?!(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*)?)?\})/, "a brace that is not a valid quantifier"],
];

/** Names the first construct that RE2 does not have or reads differently. Null: there is none. */
export function findJavaSyntax(source: string): string | null {
  const withoutEscapes = source.replaceAll(COMMON_ESCAPE, "_");
  const withoutClasses = withoutEscapes.replaceAll(CLASS, "_");
  return findConstruct(anywhere, withoutEscapes) ?? findConstruct(outsideClasses, withoutClasses);
}

function findConstruct(constructs: readonly Construct[], text: string): string | null {
  for (const [expression, name] of constructs) {
    const [found] = expression.exec(text) ?? [];
    if (found !== undefined) return `${name} (\`${shownValue(found)}\`)`;
  }
  return null;
}
