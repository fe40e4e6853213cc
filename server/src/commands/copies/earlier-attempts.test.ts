import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type ProcessHandle, startDetached } from "../../processes/detached-process/detached-process.ts";
import { claimFolder } from "../../processes/runner/claim-and-order.ts";
import { commandFiles } from "../execution/command-files.ts";
import { waitForEarlierAttempts } from "./earlier-attempts.ts";

const dataDir = mkdtempSync(join(tmpdir(), "headgate-attempts-"));
const files = commandFiles(dataDir, 1, 1);
const { signal } = new AbortController();
const running: ProcessHandle[] = [];
afterAll(() => {
  for (const { pid } of running) process.kill(pid);
  rmSync(dataDir, { recursive: true });
});

test("an attempt waits until the processes of all earlier ones have ended, and fails if they do not", async () => {
  const { folder } = files.attempt(1);
  mkdirSync(folder, { recursive: true });
  const runner = await startDetached({ argv: ["/bin/sleep", "60"], env: {}, cwd: "/" });
  running.push(runner);
  claimFolder(folder, runner);
  await waitForEarlierAttempts(files, 1, signal, 0);
  const refused = "the process of attempt 1 has not ended yet";
  await expect(waitForEarlierAttempts(files, 2, signal, 0)).rejects.toThrow(refused);
  await expect(waitForEarlierAttempts(files, 3, signal, 0)).rejects.toThrow(refused);
  const waiting = waitForEarlierAttempts(files, 3, signal);
  process.kill(runner.pid);
  running.pop();
  await waiting;
});

test("an earlier attempt that has not begun will never begin", async () => {
  const { folder } = files.attempt(4);
  mkdirSync(folder, { recursive: true });
  await waitForEarlierAttempts(files, 5, signal, 0);
  expect(claimFolder(folder, null)).toBe(false);
});

test("the wait ends when the run is cancelled", async () => {
  const { folder } = files.attempt(6);
  mkdirSync(folder, { recursive: true });
  const runner = await startDetached({ argv: ["/bin/sleep", "60"], env: {}, cwd: "/" });
  running.push(runner);
  claimFolder(folder, runner);
  const cancelled = AbortSignal.abort(new Error("cancelled"));
  await expect(waitForEarlierAttempts(files, 7, cancelled)).rejects.toThrow("cancelled");
});
