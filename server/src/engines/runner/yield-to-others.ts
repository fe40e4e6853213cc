import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { setSessionNice } from "../detached-process/session-nice.ts";

/** When the kernel runs out of memory it ends programs first, and neither the server nor its database. */
const OOM_SCORE = 500;

/** For a process that has no children yet: what it starts inherits all of it. */
export function yieldToOthers(pid: number, nice: number): void {
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, String(OOM_SCORE)));
  if (nice === 0) return;
  attempt(() => setPriority(pid, nice));
  setSessionNice(`/proc/${pid}`, nice);
}

/** Not every system has it, nor may every user do it: programs run all the same. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // see above
  }
}
