import { formatCodePoints, LAST_CODE_POINT } from "./code-points.ts";
import { readQuoted, translateClass } from "./java-class.ts";
import { readEscape } from "./java-escape.ts";
import { letterClass, lineTerminators } from "./named-classes.ts";
import { cannotTranslate, PatternText } from "./pattern-text.ts";

/** Flags of Java whose effect is spelled out in the translation. */
interface Flags {
  /** (?s): `.` matches line terminators. */
  readonly isDotAll: boolean;
  /** (?d): only `\n` is a line terminator. */
  readonly isUnixLines: boolean;
  /** (?x): blanks and comments are ignored. */
  readonly isCommented: boolean;
}

/** Deeper nesting of groups is refused, so that RE2's own recursion is bounded. */
const DEEPEST = 200;

/**
 * Translates a regular expression of Java to RE2.
 *
 * | Java | RE2 |
 * |---|---|
 * | `.` | excludes all of Java's line terminators, unless (?s) or (?d) |
 * | `\Q…\E`, `\h`, `\v`, `\R`, `\s`, `\e`, `\cX`, `\0n`, `\uhhhh`, `\p{Alpha}`, `[a&&[b]]`, `[a[b]]` | spelled out |
 * | `(?<name>…)` | `(?P<name>…)` |
 * | `\Z` | `\z`: the same, because the whole path has to match |
 * | (?i), (?m) | the same; (?s), (?d), (?u), (?x) disappear |
 * | back-references, lookaround, atomic groups, possessive quantifiers, `\G`, `\X`, `\b{g}`, (?U) | refused |
 */
export function translatePattern(source: string): string {
  return new Translator(source).translate();
}

class Translator {
  readonly #text: PatternText;
  readonly #out: string[] = [];
  /** The flags outside of each open group. */
  readonly #outer: Flags[] = [];
  #flags: Flags = { isDotAll: false, isUnixLines: false, isCommented: false };
  /** Whether a quantifier may follow. */
  #isAfterAtom = false;

  constructor(source: string) {
    this.#text = new PatternText(source);
  }

  translate(): string {
    while (!this.#text.isAtEnd) this.#next();
    if (this.#outer.length > 0) throw this.#text.problem("has a ( without a )");
    return this.#out.join("");
  }

  #next(): void {
    const text = this.#text;
    if (this.#flags.isCommented && text.tryMatch(/\s+|#.*/y) !== undefined) return;
    const character = text.take();
    switch (character) {
      case "\\":
        return this.#escape();
      case "[":
        return this.#atom(translateClass(text, this.#flags.isCommented));
      case "(":
        return this.#openGroup();
      case ")":
        return this.#closeGroup();
      case ".":
        return this.#atom(this.#dot());
      case "*":
      case "+":
      case "?":
      case "{":
        return this.#quantifier(character);
      case "|":
        return this.#emit("|");
      case "^":
      case "$":
        return this.#atom(character);
      default:
        return this.#atom(literal(character.codePointAt(0) ?? 0));
    }
  }

  #emit(part: string): void {
    this.#out.push(part);
    this.#isAfterAtom = false;
  }

  #atom(part: string): void {
    this.#out.push(part);
    this.#isAfterAtom = true;
  }

  #dot(): string {
    if (this.#flags.isDotAll) return String.raw`[\x{0}-\x{10ffff}]`;
    return this.#flags.isUnixLines ? String.raw`[^\n]` : `[^${formatCodePoints(lineTerminators)}]`;
  }

  #escape(): void {
    const text = this.#text;
    if (text.skip("Q")) {
      for (const codePoint of readQuoted(text)) this.#atom(literal(codePoint));
      return;
    }
    if (text.startsWith("b{")) throw cannotTranslate(String.raw`the boundary \b{g}`);
    if (text.tryMatch(/[bBAz]/y) !== undefined) return this.#atom(`\\${text.text.charAt(text.at - 1)}`);
    if (text.skip("Z")) return this.#atom(String.raw`\z`);
    if (text.skip("R")) return this.#atom(`(?:\\r\\n|[${formatCodePoints(letterClass("v") ?? [])}])`);
    if (text.skip("E")) throw text.problem(String.raw`has a \E without a \Q`, text.at - 2);
    const escape = readEscape(text);
    if (escape.kind === "character") this.#atom(literal(escape.codePoint));
    else if (escape.kind === "property") this.#atom(escape.source);
    else this.#atom(`[${formatCodePoints(escape.set)}]`);
  }

  #openGroup(): void {
    const text = this.#text;
    const before = this.#flags;
    if (!text.skip("?")) return this.#enter(before, "(");
    if (text.skip(":")) return this.#enter(before, "(?:");
    if (text.startsWith("=") || text.startsWith("!")) throw cannotTranslate(`lookahead, (?${text.peek()}…)`);
    if (text.startsWith("<=") || text.startsWith("<!")) throw cannotTranslate("lookbehind, (?<=…) or (?<!…)");
    if (text.startsWith(">")) throw cannotTranslate("an atomic group, (?>…)");
    const name = text.tryMatch(/P?<[A-Za-z][A-Za-z0-9]*>/y);
    if (name !== undefined) return this.#enter(before, `(?P${name.replace("P", "")}`);
    const flags = text.match(/[A-Za-z]*(?:-[A-Za-z]*)?[:)]/y, "a known kind of group after (?");
    const kept = this.#setFlags(flags.slice(0, -1));
    if (flags.endsWith(":")) this.#enter(before, `(?${kept}:`);
    else if (kept !== "") this.#emit(`(?${kept})`);
  }

  #enter(outside: Flags, part: string): void {
    if (this.#outer.length === DEEPEST) throw this.#text.problem(`nests groups more than ${DEEPEST} deep`);
    this.#outer.push(outside);
    this.#emit(part);
  }

  #closeGroup(): void {
    const outside = this.#outer.pop();
    if (outside === undefined) throw this.#text.problem("has a ) without a (", this.#text.at - 1);
    this.#flags = outside;
    this.#atom(")");
  }

  /** Returns the flags that stay in the translation. */
  #setFlags(written: string): string {
    const [on = "", off = ""] = written.split("-");
    const unknown = /[^idmsux]/.exec(on + off)?.[0];
    if (unknown !== undefined) throw cannotTranslate(`the flag (?${unknown})`);
    const isOn = (flag: string, before: boolean) => !off.includes(flag) && (before || on.includes(flag));
    this.#flags = {
      isDotAll: isOn("s", this.#flags.isDotAll),
      isUnixLines: isOn("d", this.#flags.isUnixLines),
      isCommented: isOn("x", this.#flags.isCommented),
    };
    const [keptOn, keptOff] = [on, off].map((flags) => flags.replaceAll(/[^im]/g, ""));
    return `${keptOn}${keptOff === "" ? "" : `-${keptOff}`}`;
  }

  #quantifier(sign: string): void {
    const text = this.#text;
    const start = text.at - 1;
    const counts = sign === "{" ? text.tryMatch(/\d{1,9}(?:,\d{0,9})?\}/y) : "";
    if (counts === undefined) throw text.problem(String.raw`has a { that is no repetition: write \{`, start);
    if (!this.#isAfterAtom) {
      const hint = "it is not a file name pattern: write .* for any characters";
      throw text.problem(`has a ${sign} that repeats nothing; ${hint}`, start);
    }
    if (text.startsWith("+")) throw cannotTranslate(`a possessive quantifier, ${sign}${counts}+`);
    if ((counts.match(/\d+/g) ?? []).some((count) => Number(count) > 1000)) {
      throw text.problem("repeats something more than 1000 times", start);
    }
    this.#emit(`${sign}${counts}${text.skip("?") ? "?" : ""}`);
  }
}

function literal(codePoint: number): string {
  if (codePoint > LAST_CODE_POINT) return "";
  const text = String.fromCodePoint(codePoint);
  return /^[A-Za-z0-9_/=:%@,~ -]$/.test(text) ? text : `\\x{${codePoint.toString(16)}}`;
}
