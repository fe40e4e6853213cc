import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import {
  findProcess,
  findProcessLinks,
  listProcesses,
  listProcessLinks,
  parseLink,
  parsePsLine,
  parseStat,
} from "./process-table.ts";

const fields = "S 7 42 41 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 987654 1000 200";

test("parentheses and spaces in a name do not shift the fields after it", () => {
  const links = { name: "post) gres) S", parentPid: 7, sessionId: 41, startTime: "987654" };
  expect(parseStat(`42 (post) gres) S) ${fields}`)).toEqual({ ...links, zombie: false, cpuMs: 30 });
});

test("a zombie counts as gone, unless other threads of the process still run", () => {
  expect(parseStat(`42 (postgres) ${fields.replace("S", "Z")}`)).toMatchObject({ zombie: true });
  expect(parseStat(`42 (java) ${fields.replace("S", "Z").replace("20 0 1 0", "20 0 3 0")}`)).toMatchObject({
    zombie: false,
  });
  expect(parsePsLine("  42 501 Z+   Sun Nov 15 04:21:39 2026     (postgres)")).toBeUndefined();
  expect(parseLink("  42   7   41 Z+   Sun Nov 15 04:21:39 2026     (postgres)")).toBeUndefined();
});

test("a line of ps on macOS is parsed", () => {
  expect(parsePsLine("  42    -2 Ss   Sun Nov  5 04:21:39 2026     /x y/bin/postgres -D /data -c a=b")).toEqual({
    pid: 42,
    uid: 4294967294,
    startTime: "Sun Nov  5 04:21:39 2026",
    commandLine: "/x y/bin/postgres -D /data -c a=b",
  });
});

test("a line of ps on macOS shows the parent and the process group", () => {
  expect(parseLink("  42     7    41 Ss   Sun Nov  5 04:21:39 2026     a name")).toEqual({
    pid: 42,
    parentPid: 7,
    sessionId: 41,
    startTime: "Sun Nov  5 04:21:39 2026",
    name: "a name",
  });
});

test("a process keeps its identity while it lives, and is gone afterwards", async () => {
  const child = spawn("/bin/sleep", ["600"], { stdio: "ignore" });
  await once(child, "spawn");
  const pid = child.pid ?? 0;
  const facts = await findProcess(pid);
  expect(facts).toMatchObject({ pid, uid: process.getuid?.(), commandLine: "/bin/sleep 600" });
  expect((await listProcesses()).find((entry) => entry.pid === pid)).toEqual(facts);
  const links = await findProcessLinks(pid);
  expect(links).toMatchObject({ pid, parentPid: process.pid, startTime: facts?.startTime, name: "sleep" });
  expect((await listProcessLinks()).find((entry) => entry.pid === pid)).toEqual(links);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await findProcess(pid)).toBeUndefined();
});
