import { appendFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeStubRuns, type StubRun, type StubRuns } from "../../processes/runner/stub-run.ts";
import { describeFailure } from "../../engines/spark-submit/failure-reason.ts";
import { commandFiles } from "./command-files.ts";
import { RunnerRun } from "./runner-run.ts";

const REASON = "Error: no rows today";

let runs: StubRuns;
let run: StubRun;
beforeEach(async () => {
  runs = makeStubRuns();
  run = runs.make();
  await run.start(`echo '${REASON}' >&2; exit 3`);
  await run.ended();
});
afterEach(async () => runs.dispose());

describe("the cause of a failed run", () => {
  const causeWithLog = async (log: string): Promise<unknown> => {
    const explain = (exitCode: number, logTail: string): string => describeFailure(exitCode, logTail);
    const files = { ...commandFiles("/data", 1, 1).attempt(1), folder: run.folder, log };
    return new RunnerRun(files, () => Promise.resolve(0), undefined, explain).poll();
  };

  test("is found in its log, if it is in the last 128 KiB", async () => {
    const log = join(run.folder, "log");
    expect(await causeWithLog(log)).toMatchObject({ kind: "failed", cause: `${REASON}; exit code 3` });
    const lines = `\t${"x".repeat(1022)}\n`; // as in a stack trace, which is no reason
    appendFileSync(log, lines.repeat(100));
    expect(await causeWithLog(log)).toMatchObject({ cause: `${REASON}; exit code 3` });
    appendFileSync(log, lines.repeat(28));
    expect(await causeWithLog(log)).toMatchObject({ cause: "exit code 3" });
  });

  test("is the exit code if its log cannot be read", async () => {
    const tooLong = join(dirname(run.folder), "x".repeat(300));
    expect(await causeWithLog(tooLong)).toMatchObject({ state: "ended", kind: "failed", cause: "exit code 3" });
  });
});
