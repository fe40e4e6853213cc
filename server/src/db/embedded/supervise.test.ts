import { describe, expect, inject, test, vi } from "vitest";
import { isServerChild } from "./cluster.ts";
import { findProcess, listProcesses } from "../../lib/process-table.ts";
import { query, type ScratchCluster } from "../../../test/support/scratch-cluster.ts";
import { useStoppedClusters } from "../../../test/support/use-stopped-clusters.ts";

const { cacheDir } = inject("postgres");
const PATIENCE = { timeout: 45_000 };
/** The server comes back soon, so its downtime may be short. */
const CLOSELY = { ...PATIENCE, interval: 1 };
let scratch: ScratchCluster;
useStoppedClusters(cacheDir, (own) => {
  scratch = own;
});

describe("after kill -9 of the server", () => {
  test("it is restarted at the same address, with all committed data", async () => {
    const postgres = await scratch.start();
    await query(postgres, "CREATE TABLE kept AS SELECT 42 AS answer");
    const pid = (await scratch.postmasterPid()) ?? 0;
    process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(postgres.healthy).toBe(false), CLOSELY);
    await vi.waitFor(() => expect(postgres.healthy).toBe(true), PATIENCE);
    expect(await query(postgres, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
    expect(await scratch.postmasterPid()).not.toBe(pid);
  });

  test("a stop during the restart leaves nothing running", async () => {
    const postgres = await scratch.start();
    process.kill((await scratch.postmasterPid()) ?? 0, "SIGKILL");
    await vi.waitFor(() => expect(postgres.healthy).toBe(false), CLOSELY);
    await scratch.stop();
    expect(postgres.healthy).toBe(false);
    expect((await listProcesses()).filter((facts) => isServerChild(scratch.cluster, facts))).toEqual([]);
    expect(await scratch.postmasterPid()).toBeUndefined();
    // Also frees the shared memory that the killed server left.
    expect(await query(await scratch.start(), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("a backend that is too busy to notice is ended, because it holds the shared memory", async () => {
    const postgres = await scratch.start();
    const stuck = query(postgres, "SELECT pg_sleep(600)").catch((error: unknown) => error);
    const backend = await vi.waitFor(async () => {
      const found = (await listProcesses()).find(
        (facts) => isServerChild(scratch.cluster, facts) && facts.commandLine.endsWith("SELECT"),
      );
      if (found === undefined) throw new Error("no backend at work yet");
      return found;
    }, PATIENCE);
    process.kill(backend.pid, "SIGSTOP");
    process.kill((await scratch.postmasterPid()) ?? 0, "SIGKILL");
    await vi.waitFor(() => expect(postgres.healthy).toBe(false), CLOSELY);
    await vi.waitFor(() => expect(postgres.healthy).toBe(true), PATIENCE);
    expect(await findProcess(backend.pid)).toBeUndefined();
    expect(await stuck).toBeInstanceOf(Error);
  });
});
