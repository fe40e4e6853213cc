import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { findProcess, listProcesses, parsePsLine, parseStatStartTime } from "./process-table.ts";

const fields = "S 1 42 42 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 987654 1000 200";

test("the start time is found behind a name with brackets and blanks", () => {
  expect(parseStatStartTime(`42 (post) gres) S) ${fields}`)).toBe("987654");
});

test("a zombie counts as gone", () => {
  expect(parseStatStartTime(`42 (postgres) ${fields.replace("S", "Z")}`)).toBeUndefined();
  expect(parsePsLine("  42 501 Z+   Sun Nov 15 04:21:39 2026     (postgres)")).toBeUndefined();
});

test("a line of macOS's ps is read", () => {
  expect(parsePsLine("  42    -2 Ss   Sun Nov  5 04:21:39 2026     /x y/bin/postgres -D /data -c a=b")).toEqual({
    pid: 42,
    uid: 4294967294,
    startTime: "Sun Nov  5 04:21:39 2026",
    commandLine: "/x y/bin/postgres -D /data -c a=b",
  });
});

test("a process is the same as long as it lives, and then gone", async () => {
  const child = spawn("/bin/sleep", ["600"], { stdio: "ignore" });
  await once(child, "spawn");
  const pid = child.pid ?? 0;
  const facts = await findProcess(pid);
  expect(facts).toMatchObject({ pid, uid: process.getuid?.(), commandLine: "/bin/sleep 600" });
  expect((await listProcesses()).find((entry) => entry.pid === pid)).toEqual(facts);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await findProcess(pid)).toBeUndefined();
});
