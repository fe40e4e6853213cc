import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { followLease } from "./lease.ts";
import { monotonicMs } from "./monotonic.ts";
import type { OrphanRule } from "./protocol.ts";
import { hasLiveEntry } from "./roster.ts";

/**
 * Returns a check that says why a program must end because its server is gone; undefined: it may continue. A server
 * counts as present while its presence file is renewed, whatever its pid is. Times are monotonic, as for leases.
 */
export function watchForOrphan(rule: OrphanRule, bootId: string): () => string | undefined {
  const { afterSeconds, presenceFile } = rule;
  const presence = followLease(presenceFile, bootId);
  let neededAt = monotonicMs();
  let isChecking = false;
  let reason: string | undefined;
  const check = async (): Promise<void> => {
    const isNeeded = await isInUse(rule);
    const now = monotonicMs();
    if (isNeeded) neededAt = now;
    const silentMs = Math.min(presence.ageMs(), now - neededAt);
    if (isGone(dirname(presenceFile))) reason = "its data directory is gone";
    else if (silentMs >= afterSeconds * 1000) reason = `its server has not come back for ${afterSeconds} s`;
  };
  return () => {
    if (isChecking) return reason;
    isChecking = true;
    void check().finally(() => {
      isChecking = false;
    });
    return reason;
  };
}

async function isInUse({ busyFile, usersFolder }: OrphanRule): Promise<boolean> {
  if (busyFile !== null && existsSync(busyFile)) return true;
  // When in doubt the program counts as needed: ending it too late is better than too soon.
  return usersFolder !== null && hasLiveEntry(usersFolder).catch(() => true);
}

function isGone(folder: string): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}
