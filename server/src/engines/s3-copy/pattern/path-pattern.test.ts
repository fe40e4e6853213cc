import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isExhaustive } from "../../../../test/support/exhaustive.ts";
import { CopyArgumentError } from "../options/copy-argument-error.ts";
import { compileGroupPattern, compilePathPattern, type PathPattern } from "./path-pattern.ts";

const compileSource = (source: string): PathPattern => compilePathPattern("--srcPattern", source);
const compileGroups = (source: string): PathPattern => compileGroupPattern("--groupBy", source);

describe("a pattern", () => {
  test.each([
    [".*\\.gz", ["s3://b/a.gz"], ["s3://b/a.gz.txt", "s3://b/agz"]],
    ["a.gz", ["a.gz", "a+gz"], ["xa.gz", "a.gzx", "a\ngz"]],
    ["(?s)a.b", ["a\nb", "a\rb"], ["ab"]],
    ["a(?s:.)b.", ["a\nbc"], ["a\nb\n"]],
    ["(?i)ABC(?-i)D", ["abcD"], ["abcd"]],
    ["a(?i)B", ["ab", "aB"], ["Ab"]],
    ["\\Qa.b[(?=\\E.c", ["a.b[(?=xc"], ["axb[(?=xc"]],
    ["\\Qa\\.b\\E", ["a\\.b"], ["a.b"]],
    ["\\p{Greek}\\p{Lu}\\pL\\P{L}", ["αÄz1"], ["aÄz1", "αäz1"]],
    ["[\\p{L}\\d]+", ["ä1"], ["-"]],
    ["[^\\p{L}\\d]+", ["--"], ["ä"]],
    ["[a&b]+", ["a&b"], ["c"]],
    ["[]a]+", ["]a"], ["b"]],
    ["[^]a]+", ["b"], ["]", "a"]],
    ["[a\\-z\\[\\&&]+", ["a-z[&"], ["b"]],
    ["[a-]+", ["a-"], ["b"]],
    ["[(?=*+{]+", ["(?=*+{"], [")"]],
    ["\\x41\\x{1F600}\\t\\a", ["A😀\t\x07"], []],
    ["(?<day>\\d+)/(?:x|y)(?P<z>z)", ["12/xz"], ["12/z"]],
    ["^ab$", ["ab"], ["abc"]],
    ["\\Aab\\z", ["ab"], ["abc"]],
    ["a{2,3}?b{0,}", ["aa", "aaab"], ["a"]],
    ["a|bc", ["a", "bc"], ["ac", "abc"]],
    ["\\d+\\.\\w\\b", ["12.x"], ["12x"]],
    ["\\(\\?=\\{1\\*\\+", ["(?={1*+"], []],
    ["𝒳+", ["𝒳𝒳"], ["𝒳\ud835"]],
    ["a}]b", ["a}]b"], []],
    ["", [""], ["a"]],
  ])("%j matches whole paths", (source, matching, others) => {
    const pattern = compileSource(source);
    expect(matching.filter((path) => !pattern.matches(path))).toEqual([]);
    expect(others.filter((path) => pattern.matches(path))).toEqual([]);
  });

  test.each([
    ["(a)\\1", "a back-reference (`\\1`)"],
    ["(a)\\12", "a back-reference (`\\1`)"],
    ["(?<n>a)\\k<n>", "a back-reference (`\\k<n>`)"],
    ["a(?=b)", "a lookahead (`(?=`)"],
    ["a(?!b)", "a lookahead (`(?!`)"],
    ["(?<=a)b>", "a lookbehind (`(?<=`)"],
    ["(?<!a)b", "a lookbehind (`(?<!`)"],
    ["(?>a)b", "an atomic group (`(?>`)"],
    ["a*+", "a possessive quantifier (`*+`)"],
    ["[a]++", "a possessive quantifier (`++`)"],
    ["a{2,}+", "a possessive quantifier (`{2,}+`)"],
    ["a\\G", "a Java escape (`\\G`)"],
    ["a\\Z", "a Java escape (`\\Z`)"],
    ["\\h", "a Java escape (`\\h`)"],
    ["[\\v]", "a Java escape (`\\v`)"],
    ["a\\Rb", "a Java escape (`\\R`)"],
    ["\\012", "a Java escape (`\\0`)"],
    ["\\uD83D", "a Java escape (`\\uD83D`)"],
    ["\\b{g}", "a Java escape (`\\b{`)"],
    ["\\Qa", "an unterminated \\Q (`\\Q`)"],
    ["(?U)a", "a Java flag (`(?U`)"],
    ["(?ix)a", "a Java flag (`(?ix`)"],
    [",(?s){2}", "a quantifier after flags (`(?s){`)"],
    ["[a-z&&[^aeiou]]", "a class inside a class (`[a-z&&[`)"],
    ["[a-z&&b]", "an intersection of classes (`[a-z&&`)"],
    ["[[:alpha:]]", "a class inside a class (`[[`)"],
    ["[]a[b]]", "a class inside a class (`[]a[`)"],
    ["a{b}", "a brace that is not a valid quantifier (`{`)"],
    ["a{02}", "a brace that is not a valid quantifier (`{`)"],
  ])("%j is refused, because RE2 lacks it or reads it differently from Java", (source, construct) => {
    expect(problemOf(source)).toBe(`--srcPattern uses ${construct}, which is not supported: write it in RE2 syntax.`);
  });

  test.each([
    ["*.gz", "missing argument to repetition operator: `*`"],
    ["a{1001}", "invalid repeat count: `{1001}`"],
    ["(a", "missing closing ): `(a`"],
    ["(a\n\u001b", "missing closing ): `(a`"],
    ["a)", "unexpected ): `a)`"],
    ["a)(b", "unexpected ): `a)(b`"],
    ["[a", "missing closing ]: `[a`"],
    ["[z-a]", "invalid character class range: `z-a`"],
    ["a\\", "trailing backslash at end of expression"],
    ["a\\C", "invalid escape sequence: `\\C`"],
    ["a\\K", "invalid escape sequence: `\\K`"],
    ["\\p{Alpha}", "invalid character class range: `\\p{Alpha}`"],
    ["\\p{IsLatin}", "invalid character class range: `\\p{IsLatin}`"],
    ["\\p{InGreek}", "invalid character class range: `\\p{InGreek}`"],
  ])("%j is refused with RE2's reason", (source, reason) => {
    expect(problemOf(source)).toBe(
      `--srcPattern must be a regular expression in RE2 syntax: error parsing regexp: ${reason}`,
    );
  });

  test("is refused if it is too large or nests too deeply", () => {
    const tooLarge = "--srcPattern is too large: use fewer or smaller repetitions.";
    expect(problemOf("a{1000}".repeat(11))).toBe(tooLarge);
    expect(problemOf("a".repeat(9000))).toBe(tooLarge);
    expect(problemOf("(".repeat(4000) + ")".repeat(4000))).toMatch(/expression nests too deeply$/);
  });
});

describe("the key of a group", () => {
  test.each([
    [".*/(\\d+)/(?<name>\\w+).*", "s3://b/2026/log.gz", "2026log"],
    ["(a)?(b)?.*", "b", "b"],
    ["(a)?.*", "b", null],
    ["(a*)b", "b", null],
    ["(a)", "b", null],
    ["(?:x)(.*)-.*", "xa-b-c", "a-b"],
    ["x(.*?)-.*", "xa-b-c", "a"],
    ["((a)b)", "ab", "aba"],
  ])("%j of %j is %j", (source, path, key) => {
    expect(compileGroups(source).groupKey(path)).toBe(key);
  });

  test("needs a group in the expression", () => {
    expect(() => compileGroups(".*(?:a)\\(b\\)")).toThrow("--groupBy must contain a group in parentheses");
  });
});

/** Expressions that mean the same in RE2 and JavaScript. */
const atom = fc.oneof(
  fc.constantFrom("a", "b", "0", "/", "-", "_", "\\.", "\\d", "\\D", "\\w", "\\W", ".", "\\x62", "\\[", "\\/"),
  fc.constantFrom("[ab]", "[^a]", "[a-c0]", "[\\d_]", "[^\\w/]", "[.-]", "[\\]a]", "[^\\D]"),
);
const { expression } = fc.letrec<{ expression: string; part: string }>((tie) => ({
  expression: fc.array(tie("part"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
  part: fc.oneof(
    { maxDepth: 4 },
    atom,
    fc
      .tuple(atom, fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "*?", "+?", "??", "{1,}?"))
      .map((both) => both.join("")),
    tie("expression").map((inner) => `(${inner})`),
    tie("expression").map((inner) => `(?:${inner})?`),
    fc.tuple(tie("expression"), tie("expression")).map(([one, two]) => `(${one}|${two})`),
  ),
}));
const path = fc.string({
  unit: fc.constantFrom("a", "b", "c", "0", "1", "/", "-", "_", ".", "[", "]", "\n", "é"),
  maxLength: 8,
});

test("an expression matches like JavaScript's where both mean the same", () => {
  fc.assert(
    fc.property(expression, fc.array(path, { minLength: 1, maxLength: 20 }), (source, paths) => {
      const pattern = compileSource(source);
      const expected = new RegExp(`^(?:${source})$`);
      for (const each of paths) expect(pattern.matches(each), each).toBe(expected.test(each));
    }),
    { numRuns: isExhaustive ? 500 : 200 },
  );
});

test("groups without repetitions around them capture like JavaScript's", () => {
  const grouped = fc
    .array(atom, { minLength: 1, maxLength: 3 })
    .chain((atoms) =>
      fc
        .array(fc.constantFrom("*", "+", "?", "*?", "+?", ""), { minLength: 3, maxLength: 3 })
        .map((signs) => atoms.map((each, at) => `(${each}${signs[at]})`).join(".*?") + ".*"),
    );
  fc.assert(
    fc.property(grouped, fc.array(path, { minLength: 1, maxLength: 20 }), (source, paths) => {
      const pattern = compileGroups(source);
      for (const each of paths) {
        const found = new RegExp(`^(?:${source})$`).exec(each);
        expect(pattern.groupKey(each), each).toBe(found?.slice(1).join("") || null);
      }
    }),
    { numRuns: isExhaustive ? 500 : 200 },
  );
});

test("an expression on which backtracking would never end is matched in a short time", () => {
  const pattern = compileGroups("(a*)*(a*)*(a*)*b");
  const start = performance.now();
  expect(pattern.groupKey("a".repeat(5000))).toBeNull();
  expect(performance.now() - start).toBeLessThan(5000);
});

function problemOf(source: string): string {
  try {
    compileSource(source);
  } catch (error) {
    if (error instanceof CopyArgumentError) return error.message;
  }
  throw new Error("it is not refused");
}
