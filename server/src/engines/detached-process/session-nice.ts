import { readFileSync, writeFileSync } from "node:fs";

/**
 * Where the kernel groups processes by session, a nice value counts within the session only, and the session's own value
 * counts against others: from -20 to 19, below 0 for root only. `folder`: the entry of one of its processes below
 * /proc. False: it was not changed. Not every system has it, nor may every user do it at any time.
 */
export function setSessionNice(folder: string, nice: number): boolean {
  try {
    writeFileSync(`${folder}/autogroup`, String(nice));
    return true;
  } catch {
    return false;
  }
}

export function isGroupedBySession(): boolean {
  try {
    return readFileSync("/proc/sys/kernel/sched_autogroup_enabled", "latin1").startsWith("1");
  } catch {
    return false; // no such kernel
  }
}
