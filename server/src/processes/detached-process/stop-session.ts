import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { findProcessLinks, listProcessLinks, readBootId, type ProcessLinks } from "../../lib/process-table.ts";
import type { ProcessHandle } from "./detached-process.ts";

export interface StopOptions {
  /** Time between SIGTERM and SIGKILL; 0: SIGKILL immediately. */
  readonly graceMs: number;
  /** `NAME=value` that only this session has in its environment. Finds processes that left it and lost their parents. */
  readonly mark?: string | undefined;
}

const killTimeoutMs = 10_000;

/**
 * Ends the session that the process leads: its members in all process groups and their descendants in all sessions.
 * Sends SIGTERM, then SIGKILL after the grace period, and resolves when none is left. A session can outlive its leader.
 * If another process has the leader's pid, the session is gone, because a pid is not reused while a session has it; then
 * nothing is signalled.
 *
 * A process that left the session and outlived its ancestors there is found only by the mark, on Linux. The sandbox's
 * pid namespace also confines processes that cleared their environment.
 */
export async function stopSession(handle: ProcessHandle, { graceMs, mark }: StopOptions): Promise<void> {
  if (handle.bootId !== (await readBootId())) return;
  const session = trackSession(handle, mark);
  if (graceMs > 0) {
    for (const member of await session.members()) if (!isWrapper(member)) await signal(member, ["SIGTERM", "SIGCONT"]);
    if ((await waitUntilEmpty(session, graceMs)) === 0) return;
  }
  const left = await waitUntilEmpty(session, killTimeoutMs, ["SIGKILL"]);
  if (left > 0) throw new Error(`${left} processes of session ${handle.pid} are still running after SIGKILL`);
}

/** The processes `stopSession` would end. */
export async function listSession(handle: ProcessHandle, mark?: string): Promise<ProcessLinks[]> {
  return handle.bootId === (await readBootId()) ? trackSession(handle, mark).members() : [];
}

interface Session {
  members(): Promise<ProcessLinks[]>;
}

/** Remembers the sessions that members created, so that their processes are found after the parent has ended. */
function trackSession(handle: ProcessHandle, mark: string | undefined): Session {
  const sessions = new Set([handle.pid]);
  return {
    async members() {
      const all = await listProcessLinks();
      const leader = all.find(({ pid }) => pid === handle.pid);
      if (leader !== undefined && leader.startTime !== handle.startTime) sessions.delete(handle.pid);
      const roots = all.filter((entry) => sessions.has(entry.sessionId) || hasMark(entry, mark, handle));
      const members = withDescendants(all, roots);
      for (const { sessionId } of members) sessions.add(sessionId);
      return members;
    },
  };
}

function withDescendants(all: readonly ProcessLinks[], roots: readonly ProcessLinks[]): ProcessLinks[] {
  const found = new Map(roots.map((entry) => [entry.pid, entry]));
  let before = -1;
  while (found.size > before) {
    before = found.size;
    for (const entry of all) if (found.has(entry.parentPid)) found.set(entry.pid, entry);
  }
  found.delete(process.pid);
  return [...found.values()];
}

/** Skips processes that are older than the session, because they cannot belong to it. */
function hasMark({ pid, startTime }: ProcessLinks, mark: string | undefined, leader: ProcessHandle): boolean {
  if (mark === undefined || process.platform !== "linux" || Number(startTime) < Number(leader.startTime)) return false;
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(mark);
  } catch {
    return false; // it has ended, or belongs to another user
  }
}

/** On SIGTERM, bubblewrap would kill the program before it can end itself; bubblewrap ends with the program anyway. */
function isWrapper({ name }: ProcessLinks): boolean {
  return name === "bwrap";
}

/** Returns the number of remaining processes. */
async function waitUntilEmpty(
  session: Session,
  timeoutMs: number,
  signals: readonly NodeJS.Signals[] = [],
): Promise<number> {
  const begin = performance.now();
  for (let pauseMs = 5; ; pauseMs = Math.min(2 * pauseMs, 100)) {
    const members = await session.members();
    if (members.length === 0 || performance.now() - begin > timeoutMs) return members.length;
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
      return; // it has just ended, or we may not signal it: the caller counts the remaining ones
    }
  }
}
