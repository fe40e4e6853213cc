import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { setSessionNice } from "../detached-process/session-nice.ts";

/** When memory runs out, the kernel kills programs before the server and its database. */
const OOM_SCORE = 500;

/** For a process without children yet: its later children inherit the settings. */
export function lowerPriority(pid: number, nice: number): void {
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, String(OOM_SCORE)));
  if (nice === 0) return;
  attempt(() => setPriority(pid, nice));
  setSessionNice(`/proc/${pid}`, nice);
}

/** Not every system supports these settings or permits them; programs run without them too. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // see above
  }
}
