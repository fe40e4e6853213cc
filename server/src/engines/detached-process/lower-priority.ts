import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";

/** Lets other processes go first, as nice(1) counts it; for a process that has no children yet. 0 changes nothing. */
export function lowerPriority(pid: number, nice: number): void {
  if (nice === 0) return;
  attempt(() => setPriority(pid, nice));
  lowerSession(`/proc/${pid}`, nice);
}

/**
 * Where the kernel groups processes by session, a nice value counts within the session only, and the session's own value
 * counts against others. `folder`: the entry of one of its processes below /proc.
 */
export function lowerSession(folder: string, nice: number): void {
  attempt(() => writeFileSync(`${folder}/autogroup`, String(nice)));
}

/** Not every system has it, nor may every user do it: the process runs all the same. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // see above
  }
}
