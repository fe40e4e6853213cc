import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { listProcessLinks } from "../../lib/process-table.ts";
import { startDetached } from "./detached-process.ts";
import { startFromSpawner } from "./spawner.ts";
import { stopSession } from "./stop-session.ts";

const program = { argv: ["/bin/sleep", "600"], env: {}, cwd: "/" };
async function spawnerPid(): Promise<number | undefined> {
  const children = (await listProcessLinks()).filter(({ parentPid }) => parentPid === process.pid);
  return children.find(({ pid }) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("spawner.mjs"))?.pid;
}

test("the spawner forks, not the requesting process", async () => {
  const [own, other] = [await startDetached(program), await startFromSpawner(program)];
  const links = await listProcessLinks();
  const parentOf = (pid: number): number | undefined => links.find((each) => each.pid === pid)?.parentPid;
  expect(parentOf(own.pid)).toBe(process.pid);
  expect(parentOf(other.pid)).toBe(await spawnerPid());
  for (const handle of [own, other]) await stopSession(handle, { graceMs: 0 });
});

test("a program that cannot be started is an error with the system's code", async () => {
  await expect(startFromSpawner({ ...program, argv: ["/no/such/program"] })).rejects.toMatchObject({ code: "ENOENT" });
});

test("programs can be started after the spawner was killed, and those that it started survive", async () => {
  const first = await startFromSpawner(program);
  const pid = await spawnerPid();
  if (pid === undefined) throw new Error("there is no spawner");
  process.kill(pid, "SIGKILL");
  const second = await startFromSpawner(program);
  const alive = (await listProcessLinks()).map((each) => each.pid);
  expect(alive).toEqual(expect.arrayContaining([first.pid, second.pid]));
  for (const handle of [first, second]) await stopSession(handle, { graceMs: 0 });
});
