import { readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { monotonicMs } from "../../src/processes/runner/monotonic.ts";
import type { ChaosWorld } from "./chaos-world.ts";

const LOOK_EVERY_MS = 100;
/** The load average of each core above which the machine counts as overloaded. */
const OVERLOAD = 3;

/** Notes when the nodes renew their leases, by reading the same files as the runners. */
export async function watchLeases({ nodes, outages }: ChaosWorld, end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    for (const [index, { leaseFile }] of nodes.entries()) {
      const renewedAtMs = readRenewal(leaseFile);
      if (renewedAtMs !== undefined) outages.noteRenewal(index, Date.now() - (monotonicMs() - renewedAtMs));
    }
    outages.isOverloaded ||= (loadavg()[0] ?? 0) > OVERLOAD * availableParallelism();
    await delay(LOOK_EVERY_MS);
  }
}

function readRenewal(path: string): number | undefined {
  try {
    const lease = JSON.parse(readFileSync(path, "utf8")) as { renewedAtMs: number; renewedAtMsAgain: number };
    return lease.renewedAtMs === lease.renewedAtMsAgain ? lease.renewedAtMs : undefined;
  } catch {
    return undefined; // not written yet, or being written
  }
}
