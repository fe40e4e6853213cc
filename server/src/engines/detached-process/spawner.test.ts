import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { listProcessLinks } from "../../lib/process-table.ts";
import { startDetached } from "./start-detached.ts";
import { startFromSpawner } from "./spawner.ts";
import { stopSession } from "./stop-session.ts";

const program = { argv: ["/bin/sleep", "600"], env: {}, cwd: "/" };
/** Page tables of that size take a fork many times as long as a message. */
const MEMORY_BYTES = 256 * 1024 * 1024;
const ROUNDS = 5;

/** How long the call itself keeps everything else waiting, in milliseconds; the best of some. */
async function blockedMs(start: typeof startDetached): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const began = performance.now();
    const starting = start(program);
    times.push(performance.now() - began);
    await stopSession(await starting, { graceMs: 0 });
  }
  return Math.min(...times);
}

async function spawnerPid(): Promise<number | undefined> {
  const children = (await listProcessLinks()).filter(({ parentPid }) => parentPid === process.pid);
  return children.find(({ pid }) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("spawner.mjs"))?.pid;
}

test("a start from the spawner does not block a process with much memory as its own fork does", async () => {
  const memory = Buffer.alloc(MEMORY_BYTES, 1);
  const own = await blockedMs(startDetached);
  expect(await blockedMs(startFromSpawner)).toBeLessThan(own / 2);
  expect(memory.length).toBe(MEMORY_BYTES);
});

test("a program that cannot be started is an error with its code", async () => {
  await expect(startFromSpawner({ ...program, argv: ["/no/such/program"] })).rejects.toMatchObject({ code: "ENOENT" });
});

test("programs start when the spawner has been killed, and one that it started goes on", async () => {
  const first = await startFromSpawner(program);
  const pid = await spawnerPid();
  if (pid === undefined) throw new Error("there is no spawner");
  process.kill(pid, "SIGKILL");
  const second = await startFromSpawner(program);
  const alive = (await listProcessLinks()).map((each) => each.pid);
  expect(alive).toEqual(expect.arrayContaining([first.pid, second.pid]));
  for (const handle of [first, second]) await stopSession(handle, { graceMs: 0 });
});
