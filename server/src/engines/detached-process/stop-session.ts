import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../lib/fault.ts";
import { findProcessLinks, listProcessLinks, readBootId, type ProcessLinks } from "../../lib/process-table.ts";
import type { ProcessHandle } from "./process-handle.ts";

export interface StopOptions {
  /** How long processes may take to end themselves after SIGTERM; 0: SIGKILL at once. */
  readonly graceMs: number;
  /** `NAME=value` that only this session has in its environment: finds those too that left it and lost their parents. */
  readonly mark?: string | undefined;
}

const killPatienceMs = 10_000;

/**
 * Ends the session that the process began: its members in whatever process group, their descendants in whatever
 * session. SIGTERM first, SIGKILL after the grace; returns when none is left. A leader that is gone leaves its session
 * behind; when its pid has meanwhile gone to another process, then nothing of the session was left and nobody is
 * touched.
 *
 * A process that both left the session and outlived all its ancestors in it is found by the mark alone, on Linux; a pid
 * namespace (the sandbox) holds even one that has cleared its environment.
 */
export async function stopSession(handle: ProcessHandle, { graceMs, mark }: StopOptions): Promise<void> {
  if (handle.bootId !== (await readBootId())) return;
  const session = trackSession(handle, mark);
  if (graceMs > 0) {
    for (const member of await session.members()) if (!isWrapper(member)) await signal(member, ["SIGTERM", "SIGCONT"]);
    if ((await waitUntilEmpty(session, graceMs)) === 0) return;
  }
  const left = await waitUntilEmpty(session, killPatienceMs, ["SIGKILL"]);
  if (left > 0) throw new Fault("internal", `${left} processes of the session ${handle.pid} cannot be ended`);
}

/** The processes `stopSession` would end. */
export async function listSession(handle: ProcessHandle, mark?: string): Promise<ProcessLinks[]> {
  return handle.bootId === (await readBootId()) ? trackSession(handle, mark).members() : [];
}

interface Session {
  members(): Promise<ProcessLinks[]>;
}

/** Remembers the sessions that members have opened: their processes stay known when the parent is gone. */
function trackSession(handle: ProcessHandle, mark: string | undefined): Session {
  const sessions = new Set([handle.pid]);
  return {
    async members() {
      const all = await listProcessLinks();
      const leader = all.find(({ pid }) => pid === handle.pid);
      if (leader !== undefined && leader.startTime !== handle.startTime) sessions.delete(handle.pid);
      const begins = all.filter((entry) => sessions.has(entry.sessionId) || carries(entry, mark, handle));
      const members = withDescendants(all, begins);
      for (const { sessionId } of members) sessions.add(sessionId);
      return members;
    },
  };
}

function withDescendants(all: readonly ProcessLinks[], begins: readonly ProcessLinks[]): ProcessLinks[] {
  const found = new Map(begins.map((entry) => [entry.pid, entry]));
  let before = -1;
  while (found.size > before) {
    before = found.size;
    for (const entry of all) if (found.has(entry.parentPid)) found.set(entry.pid, entry);
  }
  found.delete(process.pid);
  return [...found.values()];
}

/** Only what began after the session can belong to it; the environment of others is not looked at. */
function carries({ pid, startTime }: ProcessLinks, mark: string | undefined, leader: ProcessHandle): boolean {
  if (mark === undefined || process.platform !== "linux" || Number(startTime) < Number(leader.startTime)) return false;
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(mark);
  } catch {
    return false; // ended, or of another user and none of ours
  }
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
