import { pino } from "pino";
import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import type { StandbyRoom } from "../programs/standby-drivers.ts";
import { Claimer, type ClaimerOptions, type NodeView } from "./claimer.ts";

const given = useServer();

test.each<[NodeView["takes"], number]>([
  ["all", 1000],
  ["own", 0],
  ["nothing", 0],
])("a node that takes %s commands has %i MiB for standby drivers", async (takes, freeMiB) => {
  const rooms: StandbyRoom[] = [];
  const options: Partial<ClaimerOptions> = {
    db: given.app.services.db,
    node: { id: crypto.randomUUID(), host: "", bootId: "", memoryBudgetMiB: 1000, version: "" },
    caps: { perAccount: 1, perCluster: 1 },
    sharedMemory: { reservedMiB: () => 0, inUseMiB: () => new Map(), evict: () => undefined },
    standbys: { keepWithin: (room) => void rooms.push(room) },
    accountMemoryMiB: 1000,
    leaseSeconds: 5,
    log: pino({ enabled: false }),
    now: () => 0,
  };
  const claimer = new Claimer(options as ClaimerOptions); // the others are for commands, and none waits
  await claimer.claimWaiting({ takes, nodeState: "active", nodes: [] }, [], () => undefined);
  expect(rooms).toEqual([{ freeMiB, spareMiB: freeMiB }]);
});
