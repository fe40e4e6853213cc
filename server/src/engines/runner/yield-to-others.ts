import { writeFileSync } from "node:fs";
import { lowerPriority, lowerSession } from "../detached-process/lower-priority.ts";
import type { RunProcess } from "./run-processes.ts";

/** When the kernel runs out of memory it ends programs first, and neither the server nor its database. */
const OOM_SCORE = 500;

/** For a process that has no children yet: what it starts inherits all of it. */
export function yieldToOthers(pid: number, nice: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(OOM_SCORE));
  } catch {
    // not every system has it: programs run all the same
  }
  lowerPriority(pid, nice);
}

/** The kernel lets a plain user change one value in 100 ms. */
const SESSIONS_PER_LOOK = process.getuid?.() === 0 ? 16 : 1;

/** Programs open sessions as they like, so at each look the next few processes get their turn. */
export function yieldSessions(nice: number): (found: readonly RunProcess[]) => void {
  let next = 0;
  return (found) => {
    if (nice === 0 || found.length === 0) return;
    for (let each = 0; each < Math.min(SESSIONS_PER_LOOK, found.length); each += 1) {
      const process = found[next++ % found.length];
      if (process !== undefined) lowerSession(process.folder, nice);
    }
  };
}
