import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { because, NO_ROOT } from "../../../test/skip-reasons/skip-reasons.ts";
import { listSession } from "../detached-process/stop-session.ts";
import { followLease, writeLease } from "./lease.ts";
import { markOf } from "./mark.ts";
import { monotonicMs } from "./monotonic.ts";
import { makeStubRuns, type StubRuns } from "./stub-run.ts";

const isRoot = process.getuid?.() === 0;
let runs: StubRuns;
beforeEach(() => {
  runs = makeStubRuns();
});
afterEach(async () => runs.dispose());

describe("a program that ends by itself", () => {
  test("leaves its exact output, log and exit code, readable by its owner only, and no secret file", async () => {
    const run = runs.make();
    const handle = await run.start("printf 'a\\0\\377\\n'; echo $SECRET >&2; cat <&3 >&2; exit 7", {
      env: { PATH: "/usr/bin:/bin", SECRET: "s 1" },
      descriptor3: "given\n",
    });
    const status = await run.ended();
    expect(status).toMatchObject({ cause: "exited", exitCode: 7, signal: null, message: null, runner: handle });
    expect(Date.parse(status.endedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(status.startedAt ?? ""));
    expect(run.read("output")).toBe("a\0\xff\n");
    expect(run.read("log")).toBe("s 1\ngiven\n");
    for (const name of ["output", "log", "status.json", "spec.json", "taken"]) {
      expect(statSync(join(run.folder, name)).mode & 0o777, name).toBe(0o600);
    }
    const there = spawnSync("ls", [run.folder], { encoding: "utf8" }).stdout.trim().split("\n");
    expect(there.sort()).toEqual(["log", "output", "runner.err", "spec.json", "status.json", "taken"]);
    expect(run.read("runner.err")).toBe("");
  });

  test("shows the signal that ended it", async () => {
    const run = runs.make();
    await run.start("kill -USR1 $$");
    expect(await run.ended()).toMatchObject({ cause: "exited", exitCode: null, signal: "SIGUSR1" });
  });

  test("may reopen its output by name, and a child may write to its parent's log", async () => {
    const run = runs.make();
    const child = "exec 2>/proc/$PPID/fd/2; echo joined >&2";
    const identity = isRoot ? { uid: 200_017, gid: 200_017 } : undefined;
    await run.start(`echo again > /dev/stdout; (exec sh -c '${child}' 2>&1)`, { identity });
    expect(await run.ended()).toMatchObject({ exitCode: 0 });
    expect([run.read("output"), run.read("log")]).toEqual(["again\n", "joined\n"]);
  });

  test("has its background processes ended", async () => {
    const run = runs.make();
    await run.start("sleep 600 & setsid sleep 601 & echo up");
    const { driver, runner } = await run.ended();
    expect(run.read("output")).toBe("up\n");
    expect(await listSession(driver ?? runner, markOf(runner))).toEqual([]);
  });

  test("ends although a process that left its session keeps the output open", async () => {
    const run = runs.make();
    const castOff = `(env -i setsid sh -c 'echo $$ > ${runs.base}/pid; exec sleep 600' &)`;
    await run.start(`${castOff}; while ! [ -s ${runs.base}/pid ]; do sleep 0.01; done; echo done`);
    const { exitCode } = await run.ended();
    process.kill(Number(readFileSync(join(runs.base, "pid"), "utf8")), "SIGKILL");
    expect([exitCode, run.read("output")]).toEqual([0, "done\n"]);
  });

  test("that does not exist ends as spawn-failed with the reason", async () => {
    const run = runs.make();
    await run.start("", { argv: ["/no/such/program"] });
    const status = await run.ended();
    expect(status).toMatchObject({ cause: "spawn-failed", exitCode: null, startedAt: null, driver: null });
    expect(status.message).toBe("the program /no/such/program does not exist");
    expect(run.read("log")).toContain(status.message);
  });
});

describe("a cancel", () => {
  test("ends every process of the program, which may react to SIGTERM", async () => {
    const run = runs.make();
    await run.start(
      `setsid sleep 600 & (sleep 601 &) ; trap 'echo bye; exit 4' TERM; echo up; while :; do sleep 0.01; done`,
    );
    await run.printed("up");
    const { status } = await run.running();
    const driver = status.driver ?? status.runner;
    expect((await listSession(driver)).length).toBeGreaterThanOrEqual(3);
    await run.client.cancel();
    expect(await run.ended()).toMatchObject({ cause: "cancelled", exitCode: 4 });
    expect(await listSession(driver)).toEqual([]);
    expect([run.read("output"), run.read("log")]).toEqual([
      "up\nbye\n",
      expect.stringContaining("headgate: cancelled\n"),
    ]);
  });

  test("kills processes that do not end within the grace period", async () => {
    const run = runs.make();
    await run.start("trap '' TERM; echo up; while :; do sleep 0.01; done", { graceSeconds: 0.3 });
    await run.printed("up");
    await run.client.cancel();
    expect(await run.ended()).toMatchObject({ cause: "cancelled", exitCode: null, signal: "SIGKILL" });
  });

  test("before the start prevents the run", async () => {
    const run = runs.make();
    mkdirSync(run.folder);
    await run.client.cancel();
    await run.start(`touch ${runs.base}/ran`);
    expect(await run.ended()).toMatchObject({ cause: "cancelled", startedAt: null, exitCode: null, signal: null });
    expect(() => statSync(join(runs.base, "ran"))).toThrow("ENOENT");
  });
});

describe("a timeout", () => {
  test("ends the program at the first check after it, and is named in the log", async () => {
    const run = runs.make();
    await run.start("exec sleep 600", { timeoutSeconds: 0.7, checkSeconds: 0.5 });
    const { cause, startedAt, endedAt, message } = await run.ended();
    expect(cause).toBe("timeout");
    expect(Date.parse(endedAt ?? "") - Date.parse(startedAt ?? "")).toBeGreaterThanOrEqual(990);
    expect(run.read("log")).toBe(`headgate: ${message}\n`);
    expect(message).toContain("the timeout is 0.7 s");
  });

  test("includes the time of earlier attempts", async () => {
    const run = runs.make();
    await run.start("exec sleep 600", { timeoutSeconds: 80, checkSeconds: 60, elapsedSeconds: 119.9 });
    expect(await run.ended()).toMatchObject({ cause: "timeout", message: expect.stringContaining("after 120 s") });
  });
});

test("a log over its limit keeps its beginning and end, and the program runs to its end", async () => {
  const run = runs.make();
  await run.start("echo first >&2; yes 0123456789 | head -c 3000000 >&2; echo last >&2; echo out", {
    logLimitBytes: 20_000,
  });
  expect(await run.ended()).toMatchObject({ cause: "exited", exitCode: 0 });
  const log = run.read("log");
  expect(log.length).toBeLessThan(20_500);
  expect(log).toMatch(/^first\n(0123456789\n)+/);
  expect(log).toMatch(/headgate: the log has reached its limit of 20000 bytes; the last 10000 follow/);
  expect(log).toMatch(/headgate: 298\d{4} bytes were left out here\n[0-9\n]+last\n$/);
  expect(run.read("output")).toBe("out\n");
});

describe.skipIf(!isRoot)("on a full disk", because(NO_ROOT), () => {
  let disk: string;
  beforeEach(() => {
    disk = join(runs.base, "disk");
    mkdirSync(disk);
    expect(spawnSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]).status).toBe(0);
    chmodSync(disk, 0o700);
  });
  afterEach(() => {
    expect(spawnSync("umount", [disk]).status).toBe(0);
  });

  test.each([
    ["output", 1, "headgate: output cannot be written: no space left on the disk\n"],
    ["log", 2, "\nheadgate: log cannot be written: no space left on the disk\n"],
  ])(
    "a run whose %s does not fit ends as disk-full, and that status is stored on the same disk",
    async (name, descriptor, lastWords) => {
      const run = runs.make(disk);
      await run.start(`trap '' PIPE; head -c 1000000 /dev/zero >&${descriptor}; exec sleep 600`);
      const status = await run.ended();
      expect(status).toMatchObject({
        cause: "disk-full",
        message: `${name} cannot be written: no space left on the disk`,
      });
      expect(status.driver === null ? [] : await listSession(status.driver)).toEqual([]);
      expect(run.read("output")).toBe("");
      // The log itself may have filled the disk. Its last words then fit only if its last page has room for them.
      const allowed = name === "log" ? [lastWords, ""] : [lastWords];
      expect(allowed).toContain(run.read("log").replaceAll("\0", ""));
      await run.client.kill();
    },
  );

  test("a folder can be abandoned and a lease renewed", async () => {
    const run = runs.make(disk);
    const leaseFile = join(disk, "lease");
    const lease = { bootId: "this", renewedAtMs: 99_999 };
    writeLease(leaseFile, lease);
    mkdirSync(run.folder);
    spawnSync("sh", ["-c", `cat /dev/zero > ${disk}/ballast`]);
    expect(() => writeFileSync(join(disk, "more"), "x")).toThrow("ENOSPC");
    expect([run.client.abandon(), (await run.client.observe()).state]).toEqual([true, "abandoned"]);
    writeLease(leaseFile, { ...lease, renewedAtMs: monotonicMs() + 100_000 });
    expect(followLease(leaseFile, "this").ageMs()).toBeLessThan(0);
  });
});

test("a run ends by itself when its folder is removed", async () => {
  const run = runs.make();
  const handle = await run.start("echo up; exec sleep 600");
  await run.printed("up");
  const { status } = await run.running();
  spawnSync("rm", ["-r", run.folder]);
  const left = async (): Promise<number> =>
    (await listSession(handle)).length + (await listSession(status.driver ?? handle)).length;
  await expect.poll(left).toBe(0);
});
