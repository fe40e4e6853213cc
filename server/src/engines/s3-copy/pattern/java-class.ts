import { complementOf, formatCodePoints, intersectionOf, unionOf, type CodePoints } from "./code-points.ts";
import { readEscape, type Escape } from "./java-escape.ts";
import { cannotTranslate, type PatternText } from "./pattern-text.ts";

/** A character class. Properties that only RE2 knows are kept beside the set, as sources. */
interface CharacterClass {
  readonly set: CodePoints;
  readonly properties: readonly string[];
  /** Only if there are properties; otherwise the set is already the complement. */
  readonly isNegated: boolean;
}

/** Deeper nesting is refused. */
const DEEPEST = 50;

/**
 * Translates the class at the position, which is after its `[`. Java allows unions (`[a[bc]]`) and intersections
 * (`[a-z&&[^x]]`), which RE2 does not have: they are computed.
 */
export function translateClass(text: PatternText, isCommented: boolean): string {
  const { set, properties, isNegated } = readClass(text, isCommented, 0);
  const inside = formatCodePoints(set) + properties.join("");
  if (inside === "") return String.raw`[^\x00-\x{10ffff}]`;
  return `[${isNegated ? "^" : ""}${inside}]`;
}

/** class := `^`? union (`&&` union)* `]` */
function readClass(text: PatternText, isCommented: boolean, depth: number): CharacterClass {
  const start = text.at;
  if (depth > DEEPEST) throw text.problem("nests character classes too deeply");
  const isNegated = text.skip("^");
  const operands: CharacterClass[] = [];
  do operands.push(readUnion(text, isCommented, depth, operands.length === 0));
  while (text.skip("&&"));
  if (!text.skip("]")) throw text.problem("has a [ without a ]", start - 1);
  const [only] = operands;
  if (operands.length === 1 && only !== undefined && only.properties.length > 0) return { ...only, isNegated };
  const set = intersectionOf(operands.map(setOf));
  return { set: isNegated ? complementOf(set) : set, properties: [], isNegated: false };
}

/** Up to a `]` or `&&`. A `]` that comes first is an ordinary character. */
function readUnion(text: PatternText, isCommented: boolean, depth: number, isFirst: boolean): CharacterClass {
  const sets: CodePoints[] = [];
  const properties: string[] = [];
  const start = text.at;
  while (!text.isAtEnd && !text.startsWith("&&") && (!text.startsWith("]") || (isFirst && text.at === start))) {
    if (isCommented && text.tryMatch(/\s+|#.*/y) !== undefined) continue;
    if (text.skip("[")) {
      const inner = readClass(text, isCommented, depth + 1);
      if (inner.isNegated)
        throw cannotTranslate(`a negated class with ${inner.properties.join("")} inside another class`);
      sets.push(inner.set);
      properties.push(...inner.properties);
    } else if (text.skip(String.raw`\Q`)) {
      sets.push(
        readQuoted(text)
          .map((codePoint): [number, number] => [codePoint, codePoint])
          .toSorted(byFirst),
      );
    } else {
      const item = readItem(text);
      if (item.kind === "property") properties.push(item.source);
      else sets.push(item.kind === "set" ? item.set : readRange(text, item.codePoint));
    }
  }
  return { set: unionOf(sets), properties, isNegated: false };
}

function byFirst(a: readonly [number, number], b: readonly [number, number]): number {
  return a[0] - b[0];
}

function readItem(text: PatternText): Escape {
  if (text.skip("\\")) return readEscape(text);
  return { kind: "character", codePoint: text.take().codePointAt(0) ?? 0 };
}

/** A `-` before the end of the class or before another class is an ordinary character. */
function readRange(text: PatternText, first: number): CodePoints {
  const start = text.at;
  if (!text.startsWith("-") || /^-(\]|\[|&&|$)/.test(text.text.slice(start, start + 3))) return [[first, first]];
  text.take();
  const last = readItem(text);
  if (last.kind !== "character" || last.codePoint < first) throw text.problem("has an invalid range", start);
  return [[first, last.codePoint]];
}

/** The characters up to `\E`; the position is after `\Q`. */
export function readQuoted(text: PatternText): number[] {
  const end = text.text.indexOf(String.raw`\E`, text.at);
  const quoted = text.text.slice(text.at, end === -1 ? undefined : end);
  text.at = end === -1 ? text.text.length : end + 2;
  return [...quoted].map((character) => character.codePointAt(0) ?? 0);
}

function setOf({ set, properties }: CharacterClass): CodePoints {
  if (properties.length > 0) throw cannotTranslate(`an intersection (&&) with ${properties.join("")}`);
  return set;
}
