/**
 * A roster: a small folder with an empty file for each runner whose program is at work. Others see by it whether they
 * are needed, without a look at everything that ever ran. A file is named after its process (boot id, pid and start
 * time), so that a reader can tell the entry of a killed runner from a live one's and remove it.
 */
import { closeSync, existsSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { listFolder } from "../../lib/list-folder.ts";
import { findProcess, parseProcessHandle, type ProcessHandle } from "../detached-process/process-handle.ts";
import type { RunSpec } from "./protocol.ts";

export interface RosterEntry {
  /** Enters or leaves, as the program is at work or not. */
  update(): void;
  leave(): void;
}

export function rosterEntry(
  { rosterFolder, orphan }: Pick<RunSpec, "rosterFolder" | "orphan">,
  runner: ProcessHandle,
): RosterEntry {
  if (rosterFolder === null) return { update: () => undefined, leave: () => undefined };
  const path = join(rosterFolder, entryName(runner));
  const busyFile = orphan?.busyFile ?? null;
  let isEntered = false;
  const set = (isAtWork: boolean): void => {
    if (isAtWork === isEntered) return;
    try {
      if (isAtWork) enter(rosterFolder, path);
      else rmSync(path, { force: true });
      isEntered = isAtWork;
    } catch {
      // A full disk, perhaps: the next call tries again, and a dead process is known by its name.
    }
  };
  return {
    update: () => set(busyFile === null || existsSync(busyFile)),
    leave: () => set(false),
  };
}

function enter(folder: string, path: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
  removeDead(folder).catch(() => undefined); // they cost a look and nothing else
}

/** Whether the roster names a process that lives. */
export async function hasLiveEntry(folder: string): Promise<boolean> {
  return (await removeDead(folder)) > 0;
}

/** Returns how many are left. */
async function removeDead(folder: string): Promise<number> {
  let alive = 0;
  for (const name of await listFolder(folder)) {
    const handle = parseEntryName(name);
    if (handle !== undefined && (await findProcess(handle)) === "running") alive += 1;
    else rmSync(join(folder, name), { force: true });
  }
  return alive;
}

/** `db/embedded/end-postmaster.sh` reads such names, too. */
function entryName({ bootId, pid, startTime }: ProcessHandle): string {
  return [bootId, pid, encodeURIComponent(startTime)].join(".");
}

function parseEntryName(name: string): ProcessHandle | undefined {
  const [bootId, pid, startTime = ""] = name.split(".");
  return parseProcessHandle({ bootId, pid: Number(pid), startTime: decodeURIComponent(startTime) });
}
