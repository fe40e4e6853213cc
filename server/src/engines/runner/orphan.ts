import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { followLease } from "./lease.ts";
import { monotonicMs } from "./monotonic.ts";
import type { OrphanRule } from "./protocol.ts";
import { hasLiveEntry } from "./roster.ts";

/**
 * Returns a check that says why a program has to end because its server is gone; undefined: it may go on. A server
 * counts as present while its presence file is renewed, whatever its pid is. Time is measured as for leases, by the
 * machine's monotonic clock.
 */
export function watchForOrphan(rule: OrphanRule, bootId: string): () => string | undefined {
  const { afterSeconds, presenceFile } = rule;
  const presence = followLease(presenceFile, bootId);
  let neededAt = monotonicMs();
  let isLooking = false;
  let reason: string | undefined;
  const look = async (): Promise<void> => {
    const isNeeded = await isAtWork(rule);
    const now = monotonicMs();
    if (isNeeded) neededAt = now;
    const silentMs = Math.min(presence.ageMs(), now - neededAt);
    if (isGone(dirname(presenceFile))) reason = "its data directory is gone";
    else if (silentMs >= afterSeconds * 1000) reason = `its server has not come back for ${afterSeconds} s`;
  };
  return () => {
    if (isLooking) return reason;
    isLooking = true;
    void look().finally(() => {
      isLooking = false;
    });
    return reason;
  };
}

async function isAtWork({ busyFile, usersFolder }: OrphanRule): Promise<boolean> {
  if (busyFile !== null && existsSync(busyFile)) return true;
  // When in doubt, the program counts as needed: it should rather stay too long than end too soon.
  return usersFolder !== null && hasLiveEntry(usersFolder).catch(() => true);
}

function isGone(folder: string): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}
