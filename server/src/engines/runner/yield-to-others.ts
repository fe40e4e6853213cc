import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import type { RunProcess } from "./run-processes.ts";

/** When the kernel runs out of memory it ends programs first, and neither the server nor its database. */
const OOM_SCORE = 500;

/** For a process that has no children yet: what it starts inherits all of it. */
export function yieldToOthers(pid: number, nice: number): void {
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, String(OOM_SCORE)));
  if (nice === 0) return;
  attempt(() => setPriority(pid, nice));
  setAutogroup(`/proc/${pid}`, nice);
}

/** The kernel lets a plain user change one value in 100 ms. */
const SESSIONS_PER_LOOK = process.getuid?.() === 0 ? 16 : 1;

/**
 * Where the kernel groups processes by session, a nice value counts within a session only, and the session's own value
 * counts against others. Programs open sessions as they like, so at each look the next few processes get their turn.
 */
export function yieldSessions(nice: number): (found: readonly RunProcess[]) => void {
  let next = 0;
  return (found) => {
    if (nice === 0 || found.length === 0) return;
    for (let each = 0; each < Math.min(SESSIONS_PER_LOOK, found.length); each += 1) {
      const process = found[next++ % found.length];
      if (process !== undefined) setAutogroup(process.folder, nice);
    }
  };
}

function setAutogroup(folder: string, nice: number): void {
  attempt(() => writeFileSync(`${folder}/autogroup`, String(nice)));
}

/** Not every system has it, nor may every user do it: programs run all the same. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // see above
  }
}
