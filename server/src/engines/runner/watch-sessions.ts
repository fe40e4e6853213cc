import { isGroupedBySession, setSessionNice } from "../detached-process/session-nice.ts";
import type { ResourceLimits } from "./protocol.ts";
import type { RunProcess } from "./run-processes.ts";

/** The kernel lets a plain user change one value in 100 ms. */
const SESSIONS_PER_CHECK = process.getuid?.() === 0 ? 32 : 1;
/** For the program's second session and all after it, so that many together weigh no more than a few. */
const LOWEST = 19;
/** Processes that were started from outside of a sandbox, such as its first one, have no number in it. */
const OUTSIDE = 0;

/**
 * Where each session gets an equal share of the processor, a program with many sessions takes the shares of others. Each
 * check lowers the priority of the next few. Returns why the program must end when it has too many.
 */
export function watchSessions({
  nice,
  sessions: limit,
}: Pick<ResourceLimits, "nice" | "sessions">): (found: readonly RunProcess[]) => string | undefined {
  if (nice === 0 || !isGroupedBySession()) return () => undefined;
  let next = 0;
  return (found) => {
    const sessions = firstOfEachSession(found);
    for (let each = 0; each < Math.min(SESSIONS_PER_CHECK, sessions.length); each += 1) {
      const at = next++ % sessions.length;
      const process = sessions[at];
      if (process !== undefined) setSessionNice(process.folder, at === 0 ? nice : LOWEST);
    }
    if (limit === null || sessions.length <= limit) return undefined;
    return (
      `too many sessions: the program has ${sessions.length}, and HEADGATE_RUN_SESSIONS allows ${limit}; ` +
      "start its processes without setsid"
    );
  };
}

/** In the order of their processes, so that the program's own session is the first. */
function firstOfEachSession(found: readonly RunProcess[]): RunProcess[] {
  const inside = found.filter(({ session }) => session !== OUTSIDE);
  return [...Map.groupBy(inside, ({ session }) => session).values()].flatMap(([first]) => first ?? []);
}
