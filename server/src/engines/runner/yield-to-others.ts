import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { isGroupedBySession, setSessionNice } from "../detached-process/session-nice.ts";
import type { RunProcess } from "./run-processes.ts";

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

/** The kernel lets a plain user change one value in 100 ms. */
const SESSIONS_PER_LOOK = process.getuid?.() === 0 ? 32 : 1;
/** For the second session and all after it, so that many together weigh no more than a few. */
const LOWEST = 19;
/** Far more than programs open that do not try to get more of the processor than their part. */
const MOST_SESSIONS = 32;

/**
 * Where the kernel gives each session its part of the processor, a program that opens many takes the parts of others.
 * At each look, the next few of its sessions are made to stand back. Says so when it has too many of them.
 */
export function yieldSessions(nice: number): (found: readonly RunProcess[]) => string | undefined {
  if (nice === 0 || !isGroupedBySession()) return () => undefined;
  let next = 0;
  let isOwnSet = false;
  return (found) => {
    isOwnSet ||= setSessionNice("/proc/self", 0); // whoever watches a program needs more of the processor than it
    const sessions = [
      ...new Map(found.toReversed().map((process) => [process.session, process])).values(),
    ].toReversed();
    for (let each = 0; each < Math.min(SESSIONS_PER_LOOK, sessions.length); each += 1) {
      const at = next++ % sessions.length;
      const process = sessions[at];
      if (process !== undefined) setSessionNice(process.folder, at === 0 ? nice : LOWEST);
    }
    if (sessions.length <= MOST_SESSIONS) return undefined;
    return `too many sessions: its processes have opened ${sessions.length}, and at most ${MOST_SESSIONS} are allowed`;
  };
}
