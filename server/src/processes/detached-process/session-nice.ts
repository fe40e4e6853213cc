import { readFileSync, writeFileSync } from "node:fs";

/**
 * Sets the nice value of a session. If the kernel groups processes by session (autogroup), the nice value of a process
 * counts only within its session. Values are -20 to 19, below 0 only for root. `folder` is the /proc folder of a process
 * of the session. Returns false if the system or the user's rights do not allow it.
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
    return false; // the kernel has no autogroups
  }
}
