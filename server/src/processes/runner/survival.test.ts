import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { because, NO_ISOLATION } from "../../../test/skip-reasons/skip-reasons.ts";
import { readBootId, type ProcessLinks } from "../../lib/process-table.ts";
import { findProcess, type ProcessHandle, startDetached } from "../detached-process/detached-process.ts";
import { listSession } from "../detached-process/stop-session.ts";
import { findTestBubblewrap } from "../../../test/bubblewrap/find-test-bubblewrap.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import { writeUserFiles } from "../sandbox/confined-folders.ts";
import { writeLease } from "./lease.ts";
import { markOf } from "./mark.ts";
import { monotonicMs } from "./monotonic.ts";
import { parseStatus, protocolVersion } from "./protocol.ts";
import { makeStubRuns, type StubRun, type StubRuns } from "./stub-run.ts";
import { claimFolder } from "./claim-and-order.ts";

const bootId = await readBootId();
let runs: StubRuns;
beforeEach(() => {
  runs = makeStubRuns();
});
afterEach(async () => runs.dispose());

/** Includes processes that left the session. */
async function countProcesses(runner: ProcessHandle, driver: ProcessHandle): Promise<number> {
  const [first, second] = await Promise.all([listSession(runner), listSession(driver, markOf(runner))]);
  return first.length + second.length;
}

async function startFamily(run: StubRun, changes: Parameters<StubRun["start"]>[1] = {}): Promise<ProcessHandle[]> {
  await run.start("setsid sleep 600 & (setsid sleep 601 &); sleep 602 & echo up; wait", changes);
  await run.printed("up");
  const { runner, status } = await run.running();
  return [runner, status.driver ?? runner];
}

const signal = ({ pid }: ProcessHandle, name: NodeJS.Signals): boolean => process.kill(pid, name);

test("the lifeline of a run that is over ends no process", async () => {
  const other = await startDetached({ argv: ["sleep", "600"], env: { PATH: "/usr/bin:/bin" }, cwd: "/" });
  try {
    const script = fileURLToPath(new URL("lifeline.sh", import.meta.url));
    const guard = spawn("/bin/sh", [script, "mark", "/"], { stdio: ["pipe", "ignore", "inherit"] });
    guard.stdin.end(`${other.pid} ${other.startTime}\nover\n`);
    expect(await once(guard, "exit")).toEqual([0, null]);
    expect(await findProcess(other)).toBe("running");
  } finally {
    signal(other, "SIGKILL");
  }
});

describe("a runner that is killed", () => {
  test("takes its whole program with it without the server, and the run is lost", async () => {
    const run = runs.make();
    const [runner, driver] = (await startFamily(run)) as [ProcessHandle, ProcessHandle];
    await expect.poll(async () => countProcesses(runner, driver)).toBeGreaterThanOrEqual(8);
    signal(runner, "SIGKILL");
    await expect.poll(async () => countProcesses(runner, driver)).toBe(0);
    expect(await run.client.observe()).toMatchObject({ state: "lost", mayHaveRun: true, status: { driver } });
  });

  test("together with its lifeline leaves no process once the server has observed it", async () => {
    const run = runs.make();
    const [runner, driver] = (await startFamily(run)) as [ProcessHandle, ProcessHandle];
    const guard = (await listSession(runner)).find(({ name, sessionId }) => name === "sh" && sessionId !== driver.pid);
    if (guard === undefined) throw new Error("the runner has no lifeline process");
    process.kill(guard.pid, "SIGKILL");
    signal(runner, "SIGKILL");
    await expect.poll(async () => findProcess(runner)).toBe("gone");
    expect(await countProcesses(runner, driver)).toBeGreaterThan(0); // nothing has ended them yet
    expect(await run.client.waitForEnd()).toMatchObject({ state: "lost", mayHaveRun: true });
    expect(await countProcesses(runner, driver)).toBe(0);
  });

  test("by SIGTERM ends its program with SIGTERM and reports it", async () => {
    const run = runs.make();
    const [runner, driver] = (await startFamily(run)) as [ProcessHandle, ProcessHandle];
    signal(runner, "SIGTERM");
    expect(await run.ended()).toMatchObject({ cause: "stopped", signal: "SIGTERM" });
    await expect.poll(async () => countProcesses(runner, driver)).toBe(0);
  });

  test("by the server because it does not respond is lost", async () => {
    const run = runs.make();
    const [runner, driver] = (await startFamily(run)) as [ProcessHandle, ProcessHandle];
    signal(runner, "SIGSTOP");
    await run.client.cancel();
    await run.client.kill();
    expect(await run.client.observe()).toMatchObject({ state: "lost", mayHaveRun: true });
    expect(await countProcesses(runner, driver)).toBe(0);
  });
});

test("a runner sends heartbeats while it runs, and a suspended one does not", async () => {
  const [run, other] = [runs.make(), runs.make()];
  const [runner] = (await startFamily(run)) as [ProcessHandle, ProcessHandle];
  await startFamily(other);
  const beatOf = async (each: StubRun): Promise<number> => (await each.running()).heartbeatMs;
  const beats = async (each: StubRun, count: number): Promise<void> => {
    for (let seen = 0, last = await beatOf(each); seen < count; seen += 1) {
      await expect.poll(() => beatOf(each)).toBeGreaterThan(last);
      last = await beatOf(each);
    }
  };
  await beats(run, 2);
  signal(runner, "SIGSTOP");
  await expect.poll(() => readFileSync(`/proc/${runner.pid}/stat`, "utf8")).toContain(") T ");
  const last = await beatOf(run);
  await beats(other, 3); // long enough for a heartbeat of the suspended one
  expect(await beatOf(run)).toBe(last);
  signal(runner, "SIGCONT");
  await beats(run, 1);
});

test("a run outlives the process that started it, and a client in another process can follow it", async () => {
  const run = runs.make();
  const clientUrl = JSON.stringify(import.meta.resolve("./runner-client.ts"));
  const script = `echo up; while ! [ -e ${runs.base}/go ]; do sleep 0.01; done; echo end; exit 5`;
  const starting = `
    import { openRunnerClient } from ${clientUrl};
    const limits = { outputFile: null, logFile: null, logLimitBytes: 1000, timeoutSeconds: null, checkSeconds: 60,
      elapsedSeconds: 0, graceSeconds: 5, leaseFile: null, leaseSeconds: 600 };
    const program = { argv: ["/bin/sh", "-c", ${JSON.stringify(script)}], cwd: "/", env: { PATH: "/usr/bin:/bin" } };
    await openRunnerClient(${JSON.stringify(run.folder)}).start(program, limits);
    setInterval(() => {}, 1000);`;
  const starter = spawn(process.execPath, ["--input-type=module", "-e", starting], { stdio: "inherit" });
  await run.printed("up");
  starter.kill("SIGKILL");
  await once(starter, "exit");
  expect((await run.running()).status.startedAt).not.toBeNull();
  writeFileSync(join(runs.base, "go"), "");
  expect(await run.ended()).toMatchObject({ cause: "exited", exitCode: 5 });
  expect(run.read("output")).toBe("up\nend\n");
});

describe("a lease", () => {
  const renew = (path: string, ageMs = 0): void => writeLease(path, { bootId, renewedAtMs: monotonicMs() - ageMs });
  let renewing: NodeJS.Timeout | undefined;
  const keepRenewing = (path: string, ageMs = 0): void => {
    renew(path, ageMs);
    renewing = setInterval(() => renew(path, ageMs), 50);
  };
  const endRenewing = (): void => clearInterval(renewing);
  afterEach(endRenewing);

  test("lets the program run while it is renewed, and ends it at once otherwise", async () => {
    const run = runs.make();
    const leaseFile = join(runs.base, "lease");
    keepRenewing(leaseFile);
    await run.start("trap '' TERM; echo up; sleep 600; sleep 600", {
      leaseFile,
      leaseSeconds: 5, // long enough for a test process that is delayed
      graceSeconds: 60,
    });
    await run.printed("up");
    const begin = monotonicMs();
    await expect.poll(() => monotonicMs() - begin).toBeGreaterThan(5200);
    expect((await run.client.observe()).state).toBe("running");
    endRenewing();
    const { cause, signal: name, message } = await run.ended();
    expect([cause, name, message]).toEqual(["lease-lost", "SIGKILL", expect.stringContaining("not renewed for 5 s")]);
  });

  test("that expires while the runner is suspended ends the program, even if it was renewed during the suspension", async () => {
    const run = runs.make();
    const leaseFile = join(runs.base, "lease");
    const leaseSeconds = 60;
    const leftMs = 5000; // until each lease expires, so that the test need not wait for a minute
    const ageMs = leaseSeconds * 1000 - leftMs;
    keepRenewing(leaseFile, ageMs);
    const [runner, driver] = (await startFamily(run, { leaseFile, leaseSeconds })) as [ProcessHandle, ProcessHandle];
    signal(runner, "SIGSTOP");
    await expect.poll(() => readFileSync(`/proc/${runner.pid}/stat`, "utf8")).toContain(") T ");
    endRenewing();
    // The runner has not seen this renewal. It must not count from the moment when it reads it.
    renew(leaseFile, ageMs);
    const renewedAt = monotonicMs();
    await expect.poll(() => monotonicMs() - renewedAt).toBeGreaterThan(leftMs);
    signal(runner, "SIGCONT");
    const goesOnAt = monotonicMs();
    expect(await run.ended()).toMatchObject({ cause: "lease-lost" });
    expect(monotonicMs() - goesOnAt).toBeLessThan(leaseSeconds * 1000);
    await expect.poll(async () => countProcesses(runner, driver)).toBe(0);
  });

  test("that was renewed while the runner was suspended lets the program continue", async () => {
    const run = runs.make();
    const leaseFile = join(runs.base, "lease");
    keepRenewing(leaseFile);
    const go = join(runs.base, "go");
    const script = `echo up; while ! [ -e ${go} ]; do sleep 0.1; done`;
    const leaseSeconds = 5;
    const runner = await run.start(script, { leaseFile, leaseSeconds });
    await run.printed("up");
    await run.running();
    signal(runner, "SIGSTOP");
    // Longer than the lease that the runner has seen; the last one is valid for minutes.
    const stoppedAt = monotonicMs();
    await expect.poll(() => monotonicMs() - stoppedAt).toBeGreaterThan(leaseSeconds * 1000 + 500);
    endRenewing();
    renew(leaseFile, -600_000);
    signal(runner, "SIGCONT");
    const { heartbeatMs } = await run.running();
    await expect.poll(async () => (await run.running()).heartbeatMs).toBeGreaterThan(heartbeatMs);
    writeFileSync(go, "");
    expect(await run.ended()).toMatchObject({ cause: "exited", exitCode: 0 });
  });

  test.each(["missing", "old", "of an earlier boot"])("that is %s prevents the start", async (kind) => {
    const run = runs.make();
    const leaseFile = join(runs.base, "lease");
    if (kind === "old") renew(leaseFile, 600_000);
    if (kind.startsWith("of")) writeLease(leaseFile, { bootId: "earlier", renewedAtMs: monotonicMs() });
    await run.start(`touch ${runs.base}/ran`, { leaseFile });
    expect(await run.ended()).toMatchObject({ cause: "lease-lost", startedAt: null, exitCode: null });
    expect(() => statSync(join(runs.base, "ran"))).toThrow("ENOENT");
  });
});

describe("a folder is run at most once", () => {
  test("however many runners are started on it", async () => {
    const run = runs.make();
    const gone = async (handle: ProcessHandle): Promise<void> => {
      await expect.poll(async () => findProcess(handle)).toBe("gone");
    };
    const runners = [1, 2, 3].map(async () => run.start(`echo x >> ${runs.base}/ran; sleep 0.2`));
    for (const each of runners) await gone(await each);
    await run.ended();
    await gone(await run.start(`echo x >> ${runs.base}/ran`));
    expect(await run.ended()).toMatchObject({ cause: "exited" });
    expect(readFileSync(join(runs.base, "ran"), "utf8")).toBe("x\n");
  });

  test("and never after the server has abandoned it", async () => {
    const run = runs.make();
    mkdirSync(run.folder);
    expect(await run.client.observe()).toEqual({ state: "absent" });
    expect([run.client.abandon(), run.client.abandon()]).toEqual([true, true]);
    const handle = await run.start(`touch ${runs.base}/ran`);
    await expect.poll(async () => findProcess(handle)).toBe("gone");
    expect(await run.client.waitForEnd()).toEqual({ state: "abandoned" });
    expect(() => statSync(join(runs.base, "ran"))).toThrow("ENOENT");
  });

  test("and cannot be abandoned once a runner has claimed it", async () => {
    const run = runs.make();
    await startFamily(run);
    expect(run.client.abandon()).toBe(false);
  });

  test("and has not run if its runner died before the program began", async () => {
    const run = runs.make();
    mkdirSync(run.folder);
    const runner = await startDetached({ argv: ["/bin/true"], env: {}, cwd: "/" });
    claimFolder(run.folder, runner);
    await expect.poll(async () => findProcess(runner)).toBe("gone");
    expect(await run.client.observe()).toEqual({ state: "lost", mayHaveRun: false, status: undefined });
  });
});

describe("the protocol", () => {
  const fixture = (name: string): string => join(import.meta.dirname, "fixtures", name);
  const runnerOn = async (run: StubRun): Promise<ProcessHandle> =>
    startDetached({ argv: [process.execPath, join(import.meta.dirname, "runner.mjs"), run.folder], env: {}, cwd: "/" });

  test("a spec of version 1 keeps its meaning", async () => {
    const run = runs.make();
    mkdirSync(run.folder);
    copyFileSync(fixture("spec-1.json"), join(run.folder, "spec.json"));
    await runnerOn(run);
    expect(await run.ended()).toMatchObject({ cause: "exited", exitCode: 0 });
    expect(run.read("output")).toBe("from version 1\n");
  });

  test("a spec and an order of version 2 keep their meaning", async () => {
    const run = runs.make();
    mkdirSync(run.folder);
    for (const name of ["spec", "order"]) copyFileSync(fixture(`${name}-2.json`), join(run.folder, `${name}.json`));
    await runnerOn(run);
    expect(await run.ended()).toMatchObject({ cause: "exited", exitCode: 0 });
    expect(run.read("output")).toBe("from version 2\n");
  });

  test("a spec of version 4 keeps its meaning", async () => {
    const run = runs.make();
    mkdirSync(run.folder);
    copyFileSync(fixture("spec-4.json"), join(run.folder, "spec.json"));
    await runnerOn(run);
    expect(await run.ended()).toMatchObject({ cause: "limit", message: expect.stringContaining("too much output") });
    expect(run.read("output")).toBe("");
  });

  test("a spec of a later version is refused with its version", async () => {
    const run = runs.make();
    mkdirSync(run.folder);
    const spec = { version: protocolVersion + 1, argv: ["/bin/true"], cwd: "/" };
    writeFileSync(join(run.folder, "spec.json"), JSON.stringify(spec));
    await runnerOn(run);
    const named = new RegExp(`version ${protocolVersion + 1}`);
    expect(await run.ended()).toMatchObject({ cause: "spawn-failed", message: expect.stringMatching(named) });
  });

  test("a status of version 1 is read, and one of a later version as far as its fields are known", () => {
    const text = readFileSync(fixture("status-1.json"), "utf8");
    expect(parseStatus(text)).toMatchObject({
      state: "ended",
      cause: "cancelled",
      signal: "SIGTERM",
      driver: { pid: 42 },
    });
    const later = { ...(JSON.parse(text) as object), version: 9, cause: "unheard-of", more: true };
    expect(parseStatus(JSON.stringify(later))).toMatchObject({ state: "ended", cause: "stopped" });
  });
});

function makeTmp({ uid, gid }: { uid: number; gid: number }): string {
  const path = join(runs.base, "tmp");
  mkdirSync(path);
  chownSync(path, uid, gid);
  return path;
}

const identity = process.getuid?.() === 0 ? { uid: 200_017, gid: 200_017 } : undefined;
const bubblewrap = await findTestBubblewrap(identity);

describe.skipIf(bubblewrap.kind !== "usable")("in a sandbox", because(NO_ISOLATION), () => {
  const confined = async (script: string): Promise<ReturnType<ReturnType<typeof openSandbox>["confine"]>> => {
    const user = identity ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    chmodSync(runs.base, 0o711);
    const userFolder = join(runs.base, "user");
    await writeUserFiles(userFolder, { ...user, name: "acct17", home: "/" });
    return openSandbox("bubblewrap", bubblewrap).confine({
      argv: ["/bin/sh", "-c", script],
      env: { PATH: "/usr/bin:/bin", TOLD: "this" },
      cwd: "/",
      readOnly: [],
      writable: [],
      tmpFolder: makeTmp(user),
      userFolder,
      identity,
    });
  };

  test("a program has its own environment, writes output and log, and may react to SIGTERM", async () => {
    const run = runs.make();
    const script = `trap 'echo bye; exit 3' TERM; echo log >&2; echo $TOLD$HEADGATE_RUNNER; sleep 600.5 & wait`;
    await run.start("", await confined(script));
    await run.printed("this");
    await run.client.cancel();
    expect(await run.ended()).toMatchObject({ cause: "cancelled", exitCode: 3 });
    expect([run.read("output"), run.read("log")]).toEqual(["this\nbye\n", "log\nheadgate: cancelled\n"]);
  });

  test("kill -9 of the runner ends all processes of the program, even hidden ones", async () => {
    const run = runs.make();
    await run.start("", await confined("(env -i setsid sleep 600.25 &); sleep 600.25 & echo up; wait"));
    await run.printed("up");
    const { runner, status } = await run.running();
    const members = async (): Promise<ProcessLinks[]> => listSession(status.driver ?? runner);
    await expect.poll(async () => (await members()).filter(({ name }) => name === "sleep").length).toBe(2);
    const inside = await members();
    signal(runner, "SIGKILL");
    const handles = inside.map(({ pid, startTime }) => ({ bootId, pid, startTime }));
    const states = async (): Promise<string[]> => Promise.all(handles.map(findProcess));
    await expect.poll(states).toEqual(handles.map(() => "gone"));
    await expect.poll(() => run.client.observe()).toMatchObject({ state: "lost", mayHaveRun: true });
  });
});
