import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { splitWords } from "./shell-words.ts";

describe("splitWords", () => {
  it.each<[string, string[]]>([
    ["", []],
    [" \t\n ", []],
    ["a b  c", ["a", "b", "c"]],
    ["a\tb", ["a", "b"]],
    ["'a b' c", ["a b", "c"]],
    ['"a b" c', ["a b", "c"]],
    ["''", [""]],
    ['a "" b', ["a", "", "b"]],
    [`pre'fix 'post`, ["prefix post"]],
    [`'it'"'"'s'`, ["it's"]],
    [String.raw`a\ b`, ["a b"]],
    [String.raw`'a\b'`, [String.raw`a\b`]],
    [String.raw`"a\b"`, [String.raw`a\b`]],
    [String.raw`"\$HOME \"x\" \\ \`y\`"`.replaceAll(String.raw`\``, "\\`"), ['$HOME "x" \\ `y`']],
    [String.raw`\'\"\\`, [`'"\\`]],
    ["a \\\n  b", ["a", "b"]],
    ["a\\\nb", ["ab"]],
    ['"a\\\nb"', ["ab"]],
    ["'a\nb'", ["a\nb"]],
    ["--conf 'spark.app.name=día 日本 🚰'", ["--conf", "spark.app.name=día 日本 🚰"]],
  ])("splits %j as sh does", (text, words) => {
    expect(splitWords(text, "arguments")).toEqual(words);
    expect(asShell(text)).toEqual(words);
  });

  it.each<[string, string[]]>([
    ["$HOME ${x} $(id) `id`", ["$HOME", "${x}", "$(id)", "`id`"]],
    ["*.py ~ [ab] {a,b}", ["*.py", "~", "[ab]", "{a,b}"]],
    ["a;b & c | d > e < f", ["a;b", "&", "c", "|", "d", ">", "e", "<", "f"]],
    ["# not a comment", ["#", "not", "a", "comment"]],
    ["a\nb\r\nc", ["a", "b", "c"]],
    ["a \\\r\n  b\\\r\nc", ["a", "bc"]],
  ])("expands and runs nothing in %j", (text, words) => {
    expect(splitWords(text, "arguments")).toEqual(words);
  });

  it.each([
    ["a 'b", "arguments has an unterminated single quote at character 3"],
    ['a "b', "arguments has an unterminated double quote at character 3"],
    ['"a\\"', "arguments has an unterminated double quote at character 1"],
    ["a\\", "arguments has an unterminated backslash at character 2"],
  ])("refuses %j and names the position", (text, message) => {
    expect(() => splitWords(text, "arguments")).toThrow(message);
  });
});

function asShell(text: string): string[] {
  const { stdout } = spawnSync("/bin/sh", ["-c", `for word in ${text}\ndo printf '%s\\0' "$word"; done`], {
    encoding: "utf8",
  });
  return stdout.split("\0").slice(0, -1);
}
