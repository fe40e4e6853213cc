import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test, vi } from "vitest";
import { findProcess } from "../../lib/process-table.ts";
import { needPostgres, query, type ScratchCluster } from "../../../test/support/scratch-cluster.ts";
import { useStoppedClusters } from "../../../test/support/use-stopped-clusters.ts";
import { spawnIdentity } from "./unprivileged-user.ts";

const { cacheDir } = inject("postgres");
let scratch: ScratchCluster;
useStoppedClusters(cacheDir, (own) => {
  scratch = own;
});

/** Another process needs the server all the time, so the server keeps running after its supervisor is killed. */
async function startAndKillSupervisor(): Promise<number> {
  await needPostgres(scratch.cluster, process.pid);
  const supervisor = scratch.startElsewhere();
  await untilReady(supervisor);
  const pid = await scratch.postmasterPid();
  supervisor.kill("SIGKILL");
  await once(supervisor, "close");
  return pid ?? 0;
}

async function untilReady(supervisor: ChildProcess): Promise<void> {
  if (supervisor.stdout === null) throw new Error("the supervisor's output is not piped");
  const [line] = (await once(supervisor.stdout, "data")) as [Buffer];
  expect(line.toString()).toBe("ready\n");
}

async function isRunning(pid: number): Promise<boolean> {
  return (await findProcess(pid)) !== undefined;
}

describe("after kill -9 of the supervisor", () => {
  test("a server that is needed keeps running, and the next start adopts it", async () => {
    const pid = await startAndKillSupervisor();
    const postgres = await scratch.start();
    expect(await scratch.postmasterPid()).toBe(pid);
    expect(postgres.healthy).toBe(true);
    expect(await query(postgres, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await scratch.stop();
    expect(await isRunning(pid)).toBe(false);
  });

  test("a server with other settings is replaced", async () => {
    const pid = await startAndKillSupervisor();
    const postgres = await scratch.start({ work_mem: "5MB" });
    expect(await isRunning(pid)).toBe(false);
    expect(await query(postgres, "SHOW work_mem")).toEqual([{ work_mem: "5MB" }]);
  });

  test("an adopted server that dies is restarted", async () => {
    const pid = await startAndKillSupervisor();
    const postgres = await scratch.start();
    process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(postgres.healthy).toBe(false), { timeout: 45_000 });
    await vi.waitFor(() => expect(postgres.healthy).toBe(true), { timeout: 45_000 });
    expect(await query(postgres, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("and of the server at the same time, the next start recovers", async () => {
    const pid = await startAndKillSupervisor();
    process.kill(pid, "SIGKILL");
    expect(await query(await scratch.start(), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });
});

test("another process that reuses the pid of a dead server is not touched", async () => {
  const identity = spawnIdentity(scratch.cluster.user);
  const stranger = spawn("/bin/sleep", ["600"], { cwd: "/", stdio: "ignore", ...identity });
  await once(stranger, "spawn");
  try {
    const left = [stranger.pid, scratch.cluster.data, 1, 5432, "", "127.0.0.1", "1 1", "ready", ""].join("\n");
    await writeFile(join(scratch.cluster.data, "postmaster.pid"), left, { mode: 0o600 });
    expect(await query(await scratch.start(), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    expect(stranger.signalCode).toBeNull();
    expect(await isRunning(stranger.pid ?? 0)).toBe(true);
  } finally {
    stranger.kill("SIGKILL");
    await once(stranger, "exit");
  }
});
