import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileGroupPattern, compilePathPattern } from "./path-pattern.ts";

describe("an expression of Java", () => {
  test.each([
    [".*\\.gz", ["s3://b/a.gz"], ["s3://b/a.gz.txt", "s3://b/agz"]],
    ["a.gz", ["a.gz", "a+gz"], ["xa.gz", "a.gzx", "a\rgz", "a\u2028gz"]],
    ["(?s)a.b", ["a\nb", "a\rb"], ["ab"]],
    ["(?d)a.b", ["a\rb"], ["a\nb"]],
    ["a(?s:.)b.", ["a\nbc"], ["a\nb\n"]],
    ["(?i)ABC(?-i)D", ["abcD"], ["abcd"]],
    ["a(?i)B", ["ab", "aB"], ["Ab"]],
    ["\\Qa.b[\\E.c", ["a.b[xc"], ["axb[xc"]],
    ["\\Qa.b", ["a.b"], ["axb"]],
    ["\\h+\\v", [" \t\u00a0\n", "\u3000\u2028"], [" a", "\n\n"]],
    ["\\H\\V", ["ab"], [" b", "a\n"]],
    ["a\\Rb", ["a\r\nb", "a\nb", "a\u0085b"], ["ab"]],
    ["\\s\\S", ["\x0ba"], ["\x0b\x0b"]],
    ["\\p{Alpha}+\\P{Alpha}", ["ab1"], ["a1b"]],
    ["\\p{Punct}\\p{XDigit}", ["$F"], ["aF", "$G"]],
    ["\\p{IsLatin}\\p{Lu}\\pL\\p{script=Greek}", ["äÄzα"], ["αÄzα", "äazα"]],
    ["[\\p{L}\\d]+", ["ä1"], ["-"]],
    ["[^\\p{L}\\d]+", ["--"], ["ä"]],
    ["[a-z&&[^aeiou]]+", ["xyz"], ["xaz"]],
    ["[a-z&&[def]&&[^e]]", ["d", "f"], ["e", "a"]],
    ["[^a-c&&[b]]", ["a", "c"], ["b"]],
    ["[a-d[m-p]]+", ["admp"], ["e"]],
    ["[a&b]+", ["a&b"], ["c"]],
    ["[]a]+", ["]a"], ["b"]],
    ["[^]a]+", ["b"], ["]", "a"]],
    ["[a\\-z]+", ["a-z"], ["b"]],
    ["[a-]+", ["a-"], ["b"]],
    ["[\\Q^-]\\E]+", ["^-]"], ["Q"]],
    ["[a&&[b]]", [], ["a", "b", ""]],
    ["\\x41\\x{1F600}\\u0041\\uD83D\\uDE00\\0101\\cA\\e\\t", ["A😀A😀A\x01\x1b\t"], []],
    ["(?x) a b # comment\n c [d e]", ["abcd", "abce"], ["a b c d", "abc "]],
    ["(?<day>\\d+)/(?:x|y)", ["12/x"], ["12/z"]],
    ["^ab\\z", ["ab"], ["abc"]],
    ["ab\\Z", ["ab"], ["ab\n"]],
    ["a{2,3}?b{0,}", ["aa", "aaab"], ["a"]],
    ["a|bc", ["a", "bc"], ["ac", "abc"]],
    ["\\d+\\.\\w\\b", ["12.x"], ["12x"]],
    ["𝒳+", ["𝒳𝒳"], ["𝒳\ud835"]],
    ["a}]b", ["a}]b"], []],
    ["", [""], ["a"]],
  ])("%j matches whole paths as in Java", (source, matching, others) => {
    const pattern = compilePathPattern(source);
    expect(matching.filter((path) => !pattern.matches(path))).toEqual([]);
    expect(others.filter((path) => pattern.matches(path))).toEqual([]);
  });

  test.each([
    ["(a)\\1", "a back-reference (\\1)"],
    ["(?<n>a)\\k<n>", "a back-reference (\\k)"],
    ["a(?=b)", "lookahead, (?=…)"],
    ["a(?!b)", "lookahead, (?!…)"],
    ["(?<=a)b", "lookbehind"],
    ["(?<!a)b", "lookbehind"],
    ["(?>a)b", "an atomic group"],
    ["a*+", "a possessive quantifier, *+"],
    ["a{2}+", "a possessive quantifier, {2}+"],
    ["a\\G", "the escape \\G"],
    ["\\X", "the escape \\X"],
    ["\\b{g}", "the boundary \\b{g}"],
    ["(?U)a", "the flag (?U)"],
    ["\\p{InGreek}", "the class \\p{InGreek}"],
    ["\\p{javaLowerCase}", "the class \\p{javaLowerCase}"],
    ["[a&&\\p{L}]", "an intersection (&&) with \\p{L}"],
    ["*.gz", "has a * that repeats nothing; it is not a file name pattern"],
    ["a{b}", "has a { that is no repetition: write \\{ (at character 2)"],
    ["a{1001}", "repeats something more than 1000 times"],
    ["(a", "has a ( without a )"],
    ["a)", "has a ) without a ( (at character 2)"],
    ["[a", "has a [ without a ] (at character 1)"],
    ["[z-a]", "has an invalid range"],
    ["a\\", "ends with a backslash"],
    ["\\p{Foo}", "is not understood"],
    ["\\uD83D", "half of a surrogate pair"],
    ["((a{100}){100}){100}", "is "],
    ["(".repeat(300) + ")".repeat(300), "nests groups more than 200 deep"],
    ["[".repeat(300), "nests character classes too deeply"],
    ["a".repeat(9000), "is too large"],
  ])("%j is refused with the reason", (source, reason) => {
    const problem = problemOf(source);
    expect(problem).toMatchObject({ name: "CopyArgumentError" });
    expect(problem.message).toContain(reason);
    expect(problem.message).not.toContain("\n");
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
    expect(compileGroupPattern(source).groupKey(path)).toBe(key);
  });

  test("needs a group in the expression", () => {
    expect(() => compileGroupPattern(".*(?:a)\\(b\\)")).toThrow("--groupBy must contain a group in parentheses");
  });
});

/** Expressions that mean the same in Java and JavaScript. */
const atom = fc.oneof(
  fc.constantFrom(
    "a",
    "b",
    "0",
    "/",
    "-",
    "_",
    "\\.",
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    ".",
    "\\u0061",
    "\\x62",
    "\\[",
    "\\/",
  ),
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

test("a translated expression matches like JavaScript's where both mean the same", () => {
  fc.assert(
    fc.property(expression, fc.array(path, { minLength: 1, maxLength: 20 }), (source, paths) => {
      const pattern = compilePathPattern(source);
      const expected = new RegExp(`^(?:${source})$`);
      for (const each of paths) expect(pattern.matches(each), each).toBe(expected.test(each));
    }),
    { numRuns: 500 },
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
      const pattern = compileGroupPattern(source);
      for (const each of paths) {
        const found = new RegExp(`^(?:${source})$`).exec(each);
        expect(pattern.groupKey(each), each).toBe(found?.slice(1).join("") || null);
      }
    }),
    { numRuns: 500 },
  );
});

test("an expression on which backtracking would never end is matched in a short time", () => {
  const pattern = compileGroupPattern("(a*)*(a*)*(a*)*b");
  const start = performance.now();
  expect(pattern.groupKey("a".repeat(5000))).toBeNull();
  expect(performance.now() - start).toBeLessThan(5000);
});

function problemOf(source: string): Error {
  try {
    compilePathPattern(source);
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("it is not refused");
}
