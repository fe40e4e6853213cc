import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { findProcess, parseProcessHandle, type ProcessHandle, startDetached } from "./detached-process.ts";
import { isGroupedBySession } from "./session-nice.ts";
import { listSession, stopSession } from "./stop-session.ts";

const env = { PATH: "/usr/bin:/bin" };
let folder: string;
let started: ProcessHandle[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-detached-"));
  started = [];
});
afterEach(async () => {
  await Promise.all(started.map(async (handle) => stopSession(handle, { graceMs: 0 })));
  rmSync(folder, { recursive: true });
});

async function start(
  script: string,
  options: { inputFile?: string; sessionNice?: number } = {},
): Promise<ProcessHandle> {
  const handle = await startDetached({
    argv: ["/bin/sh", "-c", script],
    env,
    cwd: folder,
    stdoutFile: join(folder, "out"),
    stderrFile: join(folder, "err"),
    ...options,
  });
  started.push(handle);
  return handle;
}

const output = (): string => readFileSync(join(folder, "out"), "utf8");
const lines = async (count: number): Promise<string[]> => {
  await expect.poll(() => output().split("\n").length - 1).toBeGreaterThanOrEqual(count);
  return output().trimEnd().split("\n");
};

test("a detached process has its own session, only the given environment and none of our descriptors", async () => {
  writeFileSync(join(folder, "in"), "for it\n");
  const handle = await start("cat <&3; env | sort; ls /proc/self/fd | xargs; echo $PPID; exec sleep 600", {
    inputFile: join(folder, "in"),
  });
  const [input, ...said] = await lines(4);
  expect(input).toBe("for it");
  expect(said.filter((line) => line.includes("=") && !/^(PWD|OLDPWD|SHLVL|_)=/.test(line))).toEqual([
    `PATH=${env.PATH}`,
  ]);
  expect(said).toContain("0 1 2 3 4"); // 4 is the folder that ls reads
  expect((await listSession(handle)).map(({ pid, sessionId }) => [pid, sessionId])).toEqual([[handle.pid, handle.pid]]);
  expect(statSync(join(folder, "out")).mode & 0o777).toBe(0o600);
});

// Only root may change a session's nice value at any time: other users are limited to one change per 100 ms.
const canSetSessionNice = process.getuid?.() === 0 && isGroupedBySession();
test.skipIf(!canSetSessionNice)(
  "the session of a process gets the requested nice value",
  because("the kernel does not group processes by session, or the user is not root"),
  async () => {
    const { pid } = await start("exec sleep 600", { sessionNice: 7 });
    expect(readFileSync(`/proc/${pid}/autogroup`, "utf8")).toContain("nice 7");
  },
);

test("a descriptor that the starting process inherited is not passed on", async () => {
  const program = `
    import { startDetached } from ${JSON.stringify(import.meta.resolve("./detached-process.ts"))};
    const argv = ["/bin/sh", "-c", "readlink /proc/$$/fd/*"];
    await startDetached({ argv, env: {}, cwd: "/", stdoutFile: ${JSON.stringify(join(folder, "out"))} });`;
  const withExtra = 'exec 77</etc/passwd; exec "$0" --input-type=module -e "$1"';
  await once(spawn("/bin/bash", ["-c", withExtra, process.execPath, program], { stdio: "inherit" }), "exit");
  expect(await lines(3)).toEqual(["/dev/null", join(folder, "out"), "/dev/null"]);
});

test("it survives the process that started it, and its handle finds it from another process", async () => {
  const program = `
    import { startDetached } from ${JSON.stringify(import.meta.resolve("./detached-process.ts"))};
    const handle = await startDetached({ argv: ["/bin/sleep", "600"], env: {}, cwd: "/" });
    process.stdout.write(JSON.stringify(handle));
    setInterval(() => {}, 1000);`;
  const starter = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = (await once(starter.stdout, "data")) as [Buffer];
  const handle = parseProcessHandle(JSON.parse(said.toString()));
  if (handle === undefined) throw new Error("no handle");
  started.push(handle);
  starter.kill("SIGKILL");
  await once(starter, "exit");
  expect(await findProcess(handle)).toBe("running");
  await stopSession(handle, { graceMs: 1000 });
  expect(await findProcess(handle)).toBe("gone");
});

test("a process that ended immediately has a handle whose process is gone", async () => {
  const handle = await start(":");
  expect(parseProcessHandle(JSON.parse(JSON.stringify(handle)))).toEqual(handle);
  expect(handle.startTime).not.toBe("");
  await expect.poll(async () => findProcess(handle)).toBe("gone");
  await stopSession(handle, { graceMs: 1000 });
});

test("a program that does not exist is an error", async () => {
  await expect(startDetached({ argv: ["/no/such/program"], env, cwd: "/" })).rejects.toThrow("ENOENT");
});

test("invalid handles are rejected, including pids of process groups and of init", () => {
  const good = { bootId: "b", pid: 42, startTime: "1" };
  expect(parseProcessHandle(good)).toEqual(good);
  for (const pid of [1, 0, -1, 1.5, "42", null]) expect(parseProcessHandle({ ...good, pid })).toBeUndefined();
  for (const broken of [null, 4, {}, { ...good, bootId: 3 }, { ...good, startTime: null }]) {
    expect(parseProcessHandle(broken)).toBeUndefined();
  }
});

test("a handle whose pid was reused, or from before a reboot, is gone and signals nothing", async () => {
  const handle = await start("echo here; exec sleep 600");
  await lines(1);
  for (const other of [{ startTime: "1" }, { bootId: "another" }]) {
    const earlier = { ...handle, ...other };
    expect(await findProcess(earlier)).toBe("gone");
    await stopSession(earlier, { graceMs: 0 });
    expect(await listSession(earlier)).toEqual([]);
  }
  expect(await findProcess(handle)).toBe("running");
});

test("the whole session is ended: other process groups, nested sessions and stopped processes", async () => {
  const handle = await start(`
    set -m; sleep 601 & set +m
    setsid sh -c 'sleep 602 & setsid sleep 603 & wait' &
    sleep 604 & kill -STOP $!
    echo up; wait`);
  await lines(1);
  await expect.poll(async () => (await listSession(handle)).length).toBe(6);
  await stopSession(handle, { graceMs: 5000 });
  expect(await listSession(handle)).toEqual([]);
});

test("processes that outlived the session leader are ended too", async () => {
  const handle = await start("sleep 601 & echo up");
  await lines(1);
  await expect.poll(async () => findProcess(handle)).toBe("gone");
  expect(await listSession(handle)).toHaveLength(1);
  await stopSession(handle, { graceMs: 5000 });
  expect(await listSession(handle)).toEqual([]);
});

test("a process that left its session and lost its parents is found by its mark", async () => {
  const mark = `HEADGATE_TEST=${folder}`;
  const handle = await start(`export ${mark}; setsid sleep 601 & echo up`);
  await lines(1);
  await expect.poll(async () => findProcess(handle)).toBe("gone");
  // Leaving the session takes a moment.
  await expect.poll(async () => listSession(handle)).toEqual([]);
  expect(await listSession(handle, mark)).toHaveLength(1);
  await stopSession(handle, { graceMs: 5000, mark });
  expect(await listSession(handle, mark)).toEqual([]);
});

test("a process may end itself within the grace period and is killed after it", async () => {
  const polite = await start("trap 'echo bye; exit' TERM; echo up; while :; do sleep 0.01; done");
  await lines(1);
  await stopSession(polite, { graceMs: 45_000 });
  expect(output()).toBe("up\nbye\n");
  const deaf = await start("trap '' TERM; echo deaf; while :; do sleep 0.01; done");
  await lines(3);
  const begin = performance.now();
  await stopSession(deaf, { graceMs: 200 });
  expect(performance.now() - begin).toBeGreaterThan(200);
  expect(await findProcess(deaf)).toBe("gone");
});
