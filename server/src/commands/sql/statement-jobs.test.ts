import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readStatementJobs, statementsFile } from "./statement-jobs.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-statements-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const work = { stages: 1, completedStages: 1, tasks: 1, completedTasks: 1 };

test("a script of very many statements shows the newest thousand, and is read from its end", async () => {
  const lines = Array.from({ length: 50_000 }, (_, statement) =>
    JSON.stringify({ statement, status: "succeeded", work, startedAt: statement, endedAt: statement + 1 }),
  );
  writeFileSync(statementsFile(folder), `${lines.join("\n")}\n`);
  const parse = vi.spyOn(JSON, "parse");
  const next = vi.spyOn(Object.getPrototypeOf(new Map().keys()) as Iterator<unknown>, "next");
  const jobs = await readStatementJobs(folder);
  const [parsedLines, visitedEntries] = [parse.mock.calls.length, next.mock.calls.length];
  vi.restoreAllMocks();
  expect(jobs.map(({ statement }) => statement)).toEqual(Array.from({ length: 1_000 }, (_, at) => 49_000 + at));
  expect(parsedLines).toBeLessThan(40_000);
  expect(visitedEntries).toBeLessThan(4 * parsedLines);
});
