import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readBootId } from "../../lib/process-table.ts";
import { findProcess, startDetached } from "../detached-process/detached-process.ts";
import { writeLease } from "./lease.ts";
import { monotonicMs } from "./monotonic.ts";
import type { OrphanRule } from "./protocol.ts";
import { makeStubRuns, type StubRun, type StubRuns } from "./stub-run.ts";

/** Idle programs under real runners, with a simulated server. */
const PATIENCE = { timeout: 45_000 };
const bootId = await readBootId();
/** A limit in seconds, and a longer time in milliseconds. */
const SHORT = 0.7;
const LONGER = 1400;
const idle = "echo up; exec sleep 600";

let runs: StubRuns;
let dataDir: string;
beforeEach(() => {
  runs = makeStubRuns();
  dataDir = join(runs.base, "data");
  mkdirSync(dataDir);
});
afterEach(async () => runs.dispose());

const presenceFile = (): string => join(dataDir, "presence");
/** Renews the presence for minutes in advance, so that a delayed test does not look like a server that is gone. */
function startServer(): void {
  writeLease(presenceFile(), { bootId, renewedAtMs: monotonicMs() + 600_000 });
}
function stopServer(): void {
  writeLease(presenceFile(), { bootId, renewedAtMs: monotonicMs() });
}

function rule(changes: Partial<OrphanRule> = {}): OrphanRule {
  return { presenceFile: presenceFile(), afterSeconds: SHORT, busyFile: null, usersFolder: null, ...changes };
}

async function startIdle(orphan: OrphanRule, changes: { rosterFolder?: string } = {}): Promise<StubRun> {
  const run = runs.make();
  await run.start(idle, { orphan, ...changes });
  await run.printed("up");
  return run;
}

const stateOf = async ({ client }: StubRun): Promise<string> => (await client.observe()).state;
const roster = (): string => join(dataDir, "running");
const entries = (folder = roster()): string[] => readdirSync(folder);

async function runsFor(run: StubRun, milliseconds: number): Promise<void> {
  const until = monotonicMs() + milliseconds;
  await expect.poll(() => monotonicMs(), PATIENCE).toBeGreaterThan(until);
  expect(await stateOf(run)).toBe("running");
}

describe("an idle program whose server is gone", () => {
  test("ends by itself after the limit, but not while the server is there", async () => {
    startServer();
    const run = await startIdle(rule());
    await runsFor(run, LONGER);
    stopServer();
    expect(await run.ended()).toMatchObject({ cause: "stopped", message: "its server has not come back for 0.7 s" });
    expect(run.read("log")).toBe("headgate: its server has not come back for 0.7 s\n");
  });

  test("continues when a server comes back in time, whatever its pid", async () => {
    startServer();
    const limitSeconds = 5;
    const run = await startIdle(rule({ afterSeconds: limitSeconds }));
    const firstStop = monotonicMs();
    while (monotonicMs() - firstStop < limitSeconds * 1000) {
      stopServer();
      await runsFor(run, 1500);
      startServer();
      await runsFor(run, 350);
    }
  });

  test("ignores a presence file of an earlier boot", async () => {
    writeLease(presenceFile(), { bootId: "another", renewedAtMs: monotonicMs() + 600_000 });
    const run = runs.make();
    await run.start(idle, { orphan: rule() }); // it may end before it prints
    expect(await run.ended()).toMatchObject({ cause: "stopped" });
  });

  test("ends at once when its data directory is gone, however recent the last heartbeat was", async () => {
    const folder = join(dataDir, "account");
    mkdirSync(folder);
    writeLease(presenceFile(), { bootId, renewedAtMs: monotonicMs() + 600_000 });
    const inside = runs.make(folder);
    await inside.start(idle, { orphan: rule({ afterSeconds: 600 }) });
    await inside.printed("up");
    const beside = await startIdle(rule({ afterSeconds: 600 }));
    const { runner } = await inside.running();
    rmSync(dataDir, { recursive: true });
    expect(await beside.ended()).toMatchObject({ cause: "stopped", message: "its data directory is gone" });
    await expect.poll(() => findProcess(runner), PATIENCE).toBe("gone");
    mkdirSync(folder, { recursive: true }); // for the clean-up
  });

  test("stays while its busy file exists, and for the usual limit afterwards", async () => {
    const busyFile = join(runs.base, "busy");
    writeFileSync(busyFile, "");
    const run = await startIdle(rule({ busyFile }), { rosterFolder: roster() });
    await runsFor(run, LONGER);
    expect(entries()).toHaveLength(1);
    rmSync(busyFile);
    expect(await run.ended()).toMatchObject({ cause: "stopped" });
    expect(entries()).toEqual([]);
  });
});

describe("a program that others need", () => {
  test("stays while one of them is busy, and ends afterwards", async () => {
    const user = runs.make();
    await user.start(idle, { rosterFolder: roster() });
    await user.printed("up");
    const run = await startIdle(rule({ usersFolder: roster() }));
    await runsFor(run, LONGER);
    await user.client.cancel();
    await user.ended();
    expect(entries()).toEqual([]);
    expect(await run.ended()).toMatchObject({ cause: "stopped" });
  });

  test("ignores entries of a killed runner, of a reused pid, and of an earlier boot", async () => {
    const user = runs.make();
    await user.start(idle, { rosterFolder: roster() });
    await user.printed("up");
    const { runner } = await user.running();
    process.kill(runner.pid, "SIGKILL");
    for (const name of [`${bootId}.${process.pid}.1`, `another.${process.pid}.1`, "nonsense"]) {
      writeFileSync(join(roster(), name), "");
    }
    expect(entries()).toHaveLength(4);
    const run = runs.make();
    await run.start(idle, { orphan: rule({ usersFolder: roster() }) });
    expect(await run.ended()).toMatchObject({ cause: "stopped" });
    expect(entries()).toEqual([]);
  });
});

describe("a driver that waits", () => {
  const standby = { greeting: "READY\n", waitSeconds: 600 };
  const waiter = 'echo READY; order=$(cat); eval "$order"';
  const waiting = async (): Promise<StubRun> => {
    startServer();
    const run = runs.make();
    await run.start(waiter, { orphan: rule(), rosterFolder: roster() }, standby);
    await expect.poll(() => run.client.observe(), PATIENCE).toMatchObject({ state: "waiting", isReady: true });
    return run;
  };

  test("ends without having run when its server does not come back", async () => {
    const run = await waiting();
    stopServer();
    expect(await run.ended()).toMatchObject({ cause: "unused", message: "its server has not come back for 0.7 s" });
  });

  test("runs on without a server after its order, and is on the roster", async () => {
    const run = await waiting();
    const moved = join(runs.base, "attempt");
    renameSync(run.folder, moved);
    const attempt = runs.open(moved);
    attempt.client.order({
      input: "echo up; exec sleep 600",
      timeoutSeconds: null,
      checkSeconds: 1,
      elapsedSeconds: 0,
    });
    await attempt.printed("up");
    stopServer();
    await runsFor(attempt, LONGER);
    expect(entries()).toHaveLength(1);
    await attempt.client.cancel();
    await attempt.ended();
    expect(entries()).toEqual([]);
  });
});

test("a spec of version 3 keeps its meaning", async () => {
  const run = runs.make();
  mkdirSync(run.folder);
  copyFileSync(join(import.meta.dirname, "fixtures/spec-3.json"), join(run.folder, "spec.json"));
  const runner = join(import.meta.dirname, "runner.mjs");
  await startDetached({ argv: [process.execPath, runner, run.folder], env: {}, cwd: "/" });
  expect(await run.ended()).toMatchObject({ cause: "stopped", message: "its server has not come back for 1 s" });
  expect(run.read("output")).toBe("from version 3\n");
});
