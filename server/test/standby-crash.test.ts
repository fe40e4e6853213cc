/**
 * kill -9 of a node at each step of handing a program to a standby driver. In each case the program runs once: the next
 * node finds it running or ended, or it has not begun and can be claimed again.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { because, NO_ISOLATION } from "./skip-reasons/skip-reasons.ts";
import type { LiveRun, RunState } from "../src/commands/execution/executor.ts";
import { accountIdentity } from "../src/commands/execution/command-files.ts";
import { findTestBubblewrap } from "./bubblewrap/find-test-bubblewrap.ts";
import { listProcesses } from "../src/lib/process-table.ts";
import { journalOf, scope, standbyParts, type Step } from "./support/standby-steps.ts";

const PATIENCE = { timeout: 45_000 };
const program = "echo ran >> $JOURNAL; echo $MANNER";
const { kind } = await findTestBubblewrap(accountIdentity(scope.accountId));

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "headgate-standby-"));
  chmodSync(dataDir, 0o711);
  mkdirSync(join(dataDir, "accounts"), { mode: 0o711 });
});
afterEach(async () => {
  const left = (await processes()).filter(({ commandLine }) => commandLine.includes("runner.mjs"));
  for (const { pid } of left) process.kill(pid, "SIGKILL");
  await expect.poll(processes, PATIENCE).toEqual([]);
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 });
});

/** The processes of this test, by the folder with which their runner was started. */
async function processes() {
  return (await listProcesses()).filter(({ commandLine }) => commandLine.includes(dataDir));
}

function crashBehind(step: Step): void {
  const main = join(import.meta.dirname, "support/standby-crash-main.ts");
  const { signal, stderr } = spawnSync(process.execPath, [main, dataDir, step, program], { encoding: "utf8" });
  expect(signal, stderr).toBe("SIGKILL");
}

const journal = (): string => (existsSync(journalOf(dataDir)) ? readFileSync(journalOf(dataDir), "utf8") : "");

async function endOf(live: LiveRun): Promise<RunState> {
  const ended = async (): Promise<string> => (await live.poll()).state;
  await expect.poll(ended, PATIENCE).not.toBe("running");
  return live.poll();
}

async function runAgain(): Promise<RunState> {
  const { executor, run } = await standbyParts(dataDir, program);
  const live = await (await executor.prepare(run, new AbortController().signal)).spawn();
  await live.begin();
  return endOf(live);
}

describe.skipIf(kind !== "usable")("a node that is killed", because(NO_ISOLATION), () => {
  test("while a driver waits leaves a driver that the next node ends", async () => {
    crashBehind("waiting");
    expect((await processes()).length).toBeGreaterThan(0);
    const { standbys } = await standbyParts(dataDir, program);
    await standbys.clear();
    await expect.poll(processes, PATIENCE).toEqual([]);
    expect(readdirSync(join(dataDir, "accounts", String(scope.accountId), "standby"))).toEqual([]);
    expect(journal()).toBe("");
  });

  test.each<Step>(["taken", "prepared"])(
    "after the step %s has stored no handle, and the next claim runs the program once",
    async (step) => {
      crashBehind(step);
      expect(await runAgain()).toMatchObject({ state: "ended", kind: "succeeded" });
      await expect.poll(processes, PATIENCE).toEqual([]);
      expect(journal()).toBe("ran\n");
    },
  );

  test("between storing the handle and the order has not begun the program, and the next claim runs it once", async () => {
    crashBehind("spawned");
    const { executor, run } = await standbyParts(dataDir, program);
    expect(await endOf(await executor.adopt(run, {}))).toEqual({ state: "never-began" });
    expect(journal()).toBe("");
    expect(await runAgain()).toMatchObject({ state: "ended", kind: "succeeded" });
    await expect.poll(processes, PATIENCE).toEqual([]);
    expect(journal()).toBe("ran\n");
  });

  test("after the order leaves a program that is found again and runs once", async () => {
    crashBehind("ordered");
    const { executor, run } = await standbyParts(dataDir, program);
    expect(await endOf(await executor.adopt(run, {}))).toMatchObject({ state: "ended", kind: "succeeded" });
    expect(readFileSync(run.files.output, "utf8")).toBe("standby\n");
    await expect.poll(processes, PATIENCE).toEqual([]);
    expect(journal()).toBe("ran\n");
  });
});
