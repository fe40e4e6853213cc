import { pino } from "pino";
import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { commandFiles } from "../execution/command-files.ts";
import type { Executor, LiveRun, RunnableKind } from "../execution/executor.ts";
import type { ClaimedCommand } from "../store/claims.ts";
import { Claimer, type ClaimerOptions } from "./claimer.ts";
import { ConductedRun, type ConductServices } from "./conduct-run.ts";

const given = useServer();

/** A query that keeps running in its server. */
const inServer = {
  poll: () => Promise.resolve({ state: "running", pid: 1, progress: 0 }),
  changed: () => Promise.withResolvers<never>().promise,
} as Partial<LiveRun> as LiveRun;

/** Queries for one warm server, which needs 600 MiB. */
function queriesOfOneServer() {
  const server = { isKnown: false };
  const preparing = Promise.withResolvers<never>();
  const executor: Partial<Executor> = {
    unready: () => null,
    prepare: () => preparing.promise,
    adopt: () => Promise.resolve(inServer),
  };
  const memory = { reservedMiB: () => (server.isKnown ? 0 : 600), sharedBy: () => "a server" };
  const kind = { memory, executor, runsUsersCode: false } as Partial<RunnableKind> as RunnableKind;
  const services = {
    kindOf: () => kind,
    filesOf: () => commandFiles("unused", 1, 1),
    timeoutCheckSeconds: 60,
    stopping: AbortSignal.any([]),
  };
  /** `memoryMiB`: the memory that it was claimed with. `handle`: null until the run is spawned. */
  const run = (memoryMiB: number, handle: unknown = null): ConductedRun => {
    const command = { id: 1, accountId: 1, fence: 1, attempt: 1, memoryMiB, handle } as ClaimedCommand;
    return new ConductedRun(command, "", services as Partial<ConductServices> as ConductServices, 0);
  };
  return { server, run };
}

/** The memory that is free beside the runs, in a node of 1000 MiB. */
async function freeBeside(runs: readonly ConductedRun[]): Promise<number> {
  let free = 0;
  const options: Partial<ClaimerOptions> = {
    db: given.app.services.db,
    node: { id: crypto.randomUUID(), host: "", bootId: "", memoryBudgetMiB: 1000, version: "" },
    caps: { perAccount: 1, perCluster: 1 },
    sharedMemory: { reservedMiB: () => 0, inUseMiB: () => new Map(), evict: () => undefined },
    standbys: { keepWithin: ({ freeMiB }) => void (free = freeMiB) },
    accountMemoryMiB: 1000,
    leaseSeconds: 5,
    log: pino({ enabled: false }),
    now: () => 0,
  };
  const claimer = new Claimer(options as ClaimerOptions); // the others are for commands, and none waits
  await claimer.claimWaiting({ takes: "all", nodeState: "active", nodes: [] }, runs, () => undefined);
  return free;
}

test("a query that starts a warm server takes the server's memory until the server is counted itself", () => {
  const { server, run } = queriesOfOneServer();
  const query = run(600);
  expect([query.memoryMiB, query.sharedBy]).toEqual([600, "a server"]);
  server.isKnown = true;
  expect(query.memoryMiB).toBe(0);
  server.isKnown = false; // it was ended for another account before the query had begun: the query starts it again
  expect(query.memoryMiB).toBe(600);
});

test("a query that runs in a warm server takes no memory of its own, even while the server drains", async () => {
  const { run } = queriesOfOneServer();
  const query = run(600, "a handle");
  expect(query.memoryMiB).toBe(600);
  await expect.poll(() => query.memoryMiB).toBe(0);
});

test("the memory of a warm server that is starting counts once, also when the query that began the start has ended", async () => {
  const { run } = queriesOfOneServer();
  const [first, second] = [run(600), run(0)];
  expect(await freeBeside([first, second])).toBe(400);
  expect(await freeBeside([second])).toBe(400);
});
