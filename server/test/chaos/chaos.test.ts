import { describe, expect, test } from "vitest";
import { judge, outputOf, parseJournal, type ExpectedCommand, type StoredCommand } from "./journal.ts";
import { runChaos } from "./run-chaos.ts";

/** The short form of `npm run chaos`. */
test("under kill -9, SIGSTOP, a dead PostgreSQL, a reboot and a node cut off no command is lost, repeated or stuck", async () => {
  const { verdict } = await runChaos({ seed: 4, commands: 24, isShort: true, tell: () => undefined });
  expect(verdict).toEqual({ lost: [], overlapping: [], repeated: [], stuck: [] });
}, 120_000);

describe("the judge of the drivers' own lines", () => {
  const row: StoredCommand = { id: 1, status: "done", retry: 1, endMs: 5000, cause: null, nodeId: null, attempt: 1 };
  const command: ExpectedCommand = { id: 1, fails: false, cancelled: false, hit: false, output: outputOf(1) };
  const judged = (lines: string, stored: Partial<StoredCommand> = {}, expected: Partial<ExpectedCommand> = {}) =>
    judge(parseJournal(lines), [{ ...row, ...stored }], [{ ...command, ...expected }]);
  const clean = { lost: [], overlapping: [], repeated: [], stuck: [] };

  test("finds nothing wrong with a run, nor with a second attempt behind the first", () => {
    expect(judged("1 1 start 1\n1 1 tick 2\n1 1 end 3\n")).toEqual(clean);
    expect(judged("1 1 start 1\n1 2 start 2\n1 2 end 3\n", { attempt: 2 })).toEqual(clean);
    expect(judged("", { status: "error", cause: "exit code 137" }, { hit: true })).toEqual(clean);
    expect(judged("", { status: "cancelled" }, { cancelled: true })).toEqual(clean);
  });

  test.each([
    ["lost", "1 1 start 1\n", {}, {}],
    ["lost", "1 1 start 1\n1 1 end 2\n", {}, { output: "all of" }],
    ["lost", "1 1 start 1\n1 1 end 2\n", {}, { fails: true }],
    ["lost", "1 1 start 1\n", { status: "error", cause: "exit code 1" }, {}],
    ["lost", "", { status: "cancelled" }, {}],
    ["overlapping", "1 1 start 1\n1 2 start 2\n1 1 tick 3\n1 2 end 4\n", { attempt: 2 }, {}],
    ["overlapping", "1 1 start 1\n1 1 end 5200\n", {}, {}],
    ["repeated", "1 1 start 1\n1 1 start 2\n1 1 end 3\n", {}, {}],
    ["repeated", "1 1 start 1\n1 2 start 2\n1 2 end 3\n", { retry: 0, attempt: 2 }, {}],
    ["stuck", "", { status: "running", endMs: null }, {}],
  ] as const)("finds what is %s in %j", (flaw, lines, stored, expected) => {
    expect(judged(lines, stored, expected)).toEqual({ ...clean, [flaw]: [expect.any(String)] });
  });

  test("finds what was acknowledged and not stored, and what was stored twice", () => {
    expect(judge([], [], [command]).lost).toHaveLength(1);
    expect(judge([], [row], []).repeated).toHaveLength(1);
  });
});
