import { setTimeout as delay } from "node:timers/promises";
import type { ChaosWorld } from "./chaos-world.ts";

export type ProcessKind = "runner" | "driver" | "waiting driver" | "server" | "PostgreSQL" | "Spark server" | "copy";

const KINDS: readonly (readonly [ProcessKind, RegExp])[] = [
  ["runner", /runner\.mjs/],
  ["server", /node-main\.ts/],
  ["PostgreSQL", /postgres/],
  ["Spark server", /spark-connect-main\.ts/],
  ["waiting driver", /a-driver-that-waits/],
  ["driver", /program\.sh/],
  ["copy", /copy\.json/],
];
const LOOK_EVERY_MS = 500;

/**
 * Searches for processes in the same way as the final check for leftover ones, and counts what it finds. This shows
 * that the check can see every kind of process.
 */
export async function watchProcesses(world: ChaosWorld, end: AbortSignal): Promise<Record<ProcessKind, number>> {
  const most: Record<ProcessKind, number> = {
    runner: 0,
    driver: 0,
    "waiting driver": 0,
    server: 0,
    PostgreSQL: 0,
    "Spark server": 0,
    copy: 0,
  };
  while (!end.aborted) {
    const lines = (await world.processes()).map(({ commandLine }) => commandLine);
    const kinds = lines.flatMap((line) => KINDS.find(([, pattern]) => pattern.test(line))?.[0] ?? []);
    for (const [kind] of KINDS) most[kind] = Math.max(most[kind], kinds.filter((each) => each === kind).length);
    await delay(LOOK_EVERY_MS);
  }
  return most;
}
