import { isGroupedBySession, setSessionNice } from "../detached-process/session-nice.ts";
import type { ResourceLimits } from "./protocol.ts";
import type { RunProcess } from "./run-processes.ts";

/** The kernel allows an unprivileged user one change every 100 ms. */
const SESSIONS_PER_CHECK = process.getuid?.() === 0 ? 32 : 1;
/** For all sessions but the program's first, so that many sessions together get little more than one. */
const LOWEST = 19;
/** A session that was started outside the sandbox has this id inside it. */
const OUTSIDE = 0;

/**
 * Where each session gets an equal share of the processor, a program with many sessions gets more than its share. Each
 * check lowers the priority of the next few sessions. Returns why the program must end if it has too many.
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

/** In the order of the processes, so that the program's own session comes first. */
function firstOfEachSession(found: readonly RunProcess[]): RunProcess[] {
  const inside = found.filter(({ session }) => session !== OUTSIDE);
  return [...Map.groupBy(inside, ({ session }) => session).values()].flatMap(([first]) => first ?? []);
}
