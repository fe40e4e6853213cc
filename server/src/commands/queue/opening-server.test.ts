import { expect, test } from "vitest";
import { commandFiles } from "../execution/command-files.ts";
import type { Executor, RunnableKind } from "../execution/executor.ts";
import type { ClaimedCommand } from "../store/claims.ts";
import { ConductedRun, type ConductServices } from "./conduct-run.ts";

test("a query that starts a warm server takes the server's memory until the server is counted itself", async () => {
  let isServerKnown = false;
  const executor: Partial<Executor> = {
    unready: () => null,
    prepare: () => Promise.withResolvers<never>().promise,
  };
  const memory = { reservedMiB: () => (isServerKnown ? 0 : 600), sharedBy: () => "a server" };
  const kind = { memory, executor, runsUsersCode: false } as Partial<RunnableKind> as RunnableKind;
  const services = {
    kindOf: () => kind,
    filesOf: () => commandFiles("unused", 1, 1),
    timeoutCheckSeconds: 60,
    stopping: AbortSignal.any([]),
  };
  const command = { id: 1, accountId: 1, fence: 1, attempt: 1, memoryMiB: 600, handle: null } as ClaimedCommand;
  const run = new ConductedRun(command, "", services as Partial<ConductServices> as ConductServices, 0);
  expect([run.memoryMiB, run.sharedBy]).toEqual([600, "a server"]);
  isServerKnown = true;
  expect(run.memoryMiB).toBe(0);
  isServerKnown = false; // it serves this query to its end, but no new ones
  expect(run.memoryMiB).toBe(0);
});
