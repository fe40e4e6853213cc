import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, describe, expect, inject, test } from "vitest";
import { findProcess, listProcesses, readBootId } from "../../lib/process-table.ts";
import { attachEmbeddedPostgres } from "./attach-embedded-postgres.ts";
import { needPostgres, query, type ScratchCluster } from "../../../test/support/scratch-cluster.ts";
import { useStoppedClusters } from "../../../test/support/use-stopped-clusters.ts";

const { cacheDir } = inject("postgres");
const PATIENCE = { timeout: 45_000 };
let scratch: ScratchCluster;
let sleeper: ChildProcess | undefined;
useStoppedClusters(cacheDir, (own) => {
  scratch = own;
});
afterEach(() => {
  sleeper?.kill("SIGKILL");
  sleeper = undefined;
});

/** A process that needs the server, such as a metastore. */
async function startUser(): Promise<ChildProcess> {
  sleeper = spawn("/bin/sleep", ["600"], { stdio: "ignore" });
  await once(sleeper, "spawn");
  await needPostgres(scratch.cluster, sleeper.pid ?? 0);
  return sleeper;
}

async function crash(): Promise<number> {
  const supervisor = scratch.startElsewhere();
  await once(supervisor.stdout ?? supervisor, "data");
  const pid = (await scratch.postmasterPid()) ?? 0;
  supervisor.kill("SIGKILL");
  await once(supervisor, "close");
  return pid;
}

const isRunning = async (pid: number): Promise<boolean> => (await findProcess(pid)) !== undefined;
const watchers = async () =>
  (await listProcesses()).filter(({ commandLine }) => commandLine.includes(scratch.cluster.roster));

describe("after kill -9 of Headgate", () => {
  test("a server that no process needs shuts down cleanly at once", async () => {
    const { roster } = scratch.cluster;
    await mkdir(roster, { recursive: true });
    for (const name of [`another.${process.pid}.1`, `${await readBootId()}.${process.pid}.1`, "nonsense"]) {
      await writeFile(join(roster, name), "");
    }
    const pid = await crash();
    await expect.poll(() => isRunning(pid), PATIENCE).toBe(false);
    await expect.poll(() => watchers(), PATIENCE).toEqual([]);
    expect(await scratch.postmasterPid()).toBeUndefined(); // a clean shutdown removes the file
  });

  test("a server stops with the last process that needs it", async () => {
    const user = await startUser();
    const pid = await crash();
    await expect.poll(() => watchers(), PATIENCE).toHaveLength(1); // its shell sometimes forks
    expect(await isRunning(pid)).toBe(true);
    user.kill("SIGKILL");
    await expect.poll(() => isRunning(pid), PATIENCE).toBe(false);
  });

  test("a server stops at once if the data directory is deleted", async () => {
    await startUser();
    const pid = await crash();
    await rm(scratch.dataDir, { recursive: true, force: true, maxRetries: 20 }); // PostgreSQL still writes
    await expect.poll(() => isRunning(pid), PATIENCE).toBe(false);
  });

  test("the next Headgate adopts a server that is needed, and no watcher stops it afterwards", async () => {
    const user = await startUser();
    const pid = await crash();
    const postgres = await scratch.start();
    expect(await scratch.postmasterPid()).toBe(pid);
    user.kill("SIGKILL");
    await expect.poll(() => watchers(), PATIENCE).toHaveLength(1); // its own
    expect(await query(postgres, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await scratch.stop();
    await expect.poll(() => watchers(), PATIENCE).toEqual([]);
  });

  test("an operator's command leaves a needed server running, and it still stops with its last user", async () => {
    const user = await startUser();
    const pid = await crash();
    const attached = await attachEmbeddedPostgres({
      dataDir: scratch.dataDir,
      cacheDir,
      log: pino({ level: "silent" }),
    });
    expect(await query(attached, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await attached.stop();
    expect([await scratch.postmasterPid(), await isRunning(pid)]).toEqual([pid, true]);
    expect(await query(attached, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    user.kill("SIGKILL");
    await expect.poll(() => isRunning(pid), PATIENCE).toBe(false);
  });

  test("the next Headgate starts without an error while the server is stopping", async () => {
    for (let round = 0; round < 3; round += 1) {
      await crash();
      expect(await query(await scratch.start(), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
      await scratch.stop();
    }
  });

  test("if the server was restarted, the new one is stopped", async () => {
    const supervisor = scratch.startElsewhere();
    await once(supervisor.stdout ?? supervisor, "data");
    const first = (await scratch.postmasterPid()) ?? 0;
    process.kill(first, "SIGKILL");
    const second = async (): Promise<number> => {
      const pid = (await scratch.postmasterPid()) ?? first;
      return pid === first || !(await isRunning(pid)) ? 0 : pid;
    };
    await expect.poll(second, PATIENCE).toBeGreaterThan(0);
    const pid = await second();
    supervisor.kill("SIGKILL");
    await once(supervisor, "close");
    await expect.poll(() => isRunning(pid), PATIENCE).toBe(false);
  });
});
