import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../lib/fault.ts";
import { findProcessLinks, listProcessLinks, readBootId, type ProcessLinks } from "../../lib/process-table.ts";
import type { ProcessHandle } from "./process-handle.ts";

export interface StopOptions {
  /** How long processes may take to end themselves after SIGTERM; 0: SIGKILL at once. */
  readonly graceMs: number;
}

const killPatienceMs = 10_000;

/**
 * Ends the session that the process began: its members in whatever process group, their descendants in whatever
 * session. SIGTERM first, SIGKILL after the grace; returns when none is left. A leader that is gone leaves its session
 * behind; when its pid has meanwhile gone to another process, then nothing of the session was left and nobody is
 * touched.
 *
 * A process that both left the session and outlived all its ancestors in it is not found: only a pid namespace (the
 * sandbox) holds such a one.
 */
export async function stopSession(handle: ProcessHandle, { graceMs }: StopOptions): Promise<void> {
  if (handle.bootId !== (await readBootId())) return;
  const session = trackSession(handle);
  if (graceMs > 0) {
    for (const member of await session.members()) if (!isWrapper(member)) await signal(member, ["SIGTERM", "SIGCONT"]);
    if ((await waitUntilEmpty(session, graceMs)) === 0) return;
  }
  const left = await waitUntilEmpty(session, killPatienceMs, ["SIGKILL"]);
  if (left > 0) throw new Fault("internal", `${left} processes of the session ${handle.pid} cannot be ended`);
}

/** The processes `stopSession` would end. */
export async function listSession(handle: ProcessHandle): Promise<ProcessLinks[]> {
  return handle.bootId === (await readBootId()) ? trackSession(handle).members() : [];
}

interface Session {
  members(): Promise<ProcessLinks[]>;
}

/** Remembers the sessions that members have opened: their processes stay known when the parent is gone. */
function trackSession(handle: ProcessHandle): Session {
  const sessions = new Set([handle.pid]);
  return {
    async members() {
      const all = await listProcessLinks();
      const leader = all.find(({ pid }) => pid === handle.pid);
      if (leader !== undefined && leader.startTime !== handle.startTime) sessions.delete(handle.pid);
      const members = withDescendants(all, sessions);
      for (const { sessionId } of members) sessions.add(sessionId);
      return members;
    },
  };
}

export function withDescendants(all: readonly ProcessLinks[], sessions: ReadonlySet<number>): ProcessLinks[] {
  const found = new Map<number, ProcessLinks>();
  let before = -1;
  while (found.size > before) {
    before = found.size;
    for (const entry of all) {
      if (sessions.has(entry.sessionId) || found.has(entry.parentPid)) found.set(entry.pid, entry);
    }
  }
  found.delete(process.pid);
  return [...found.values()];
}

/** bubblewrap dies of SIGTERM and takes the program along before that could end itself; it ends when the program does. */
function isWrapper({ name }: ProcessLinks): boolean {
  return name === "bwrap";
}

/** Returns how many are left. */
async function waitUntilEmpty(
  session: Session,
  patienceMs: number,
  signals: readonly NodeJS.Signals[] = [],
): Promise<number> {
  const begin = performance.now();
  for (let pauseMs = 5; ; pauseMs = Math.min(2 * pauseMs, 100)) {
    const members = await session.members();
    if (members.length === 0 || performance.now() - begin > patienceMs) return members.length;
    for (const member of members) await signal(member, signals);
    await delay(pauseMs);
  }
}

async function signal({ pid, startTime }: ProcessLinks, names: readonly NodeJS.Signals[]): Promise<void> {
  if (names.length === 0 || (await findProcessLinks(pid))?.startTime !== startTime) return;
  for (const name of names) {
    try {
      process.kill(pid, name);
    } catch {
      return; // it has just ended, or is not ours to end: the caller counts what is left
    }
  }
}
