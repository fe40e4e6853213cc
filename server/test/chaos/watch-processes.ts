import { setTimeout as delay } from "node:timers/promises";
import type { ChaosWorld } from "./chaos-world.ts";

export type ProcessSort = "runner" | "driver" | "waiting driver" | "server" | "PostgreSQL" | "Spark server";

const SORTS: readonly (readonly [ProcessSort, RegExp])[] = [
  ["runner", /runner\.mjs/],
  ["server", /node-main\.ts/],
  ["PostgreSQL", /postgres/],
  ["Spark server", /spark-connect-main\.ts/],
  ["waiting driver", /a-driver-that-waits/],
  ["driver", /program\.sh/],
];
const LOOK_EVERY_MS = 500;

/** Shows that the count of what is left would see each sort of process: all were seen by it while they ran. */
export async function watchProcesses(world: ChaosWorld, end: AbortSignal): Promise<Record<ProcessSort, number>> {
  const most: Record<ProcessSort, number> = {
    runner: 0,
    driver: 0,
    "waiting driver": 0,
    server: 0,
    PostgreSQL: 0,
    "Spark server": 0,
  };
  while (!end.aborted) {
    const lines = (await world.processes()).map(({ commandLine }) => commandLine);
    const sorts = lines.flatMap((line) => SORTS.find(([, pattern]) => pattern.test(line))?.[0] ?? []);
    for (const [sort] of SORTS) most[sort] = Math.max(most[sort], sorts.filter((each) => each === sort).length);
    await delay(LOOK_EVERY_MS);
  }
  return most;
}
