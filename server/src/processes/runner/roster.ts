/**
 * A roster is a folder with an empty file for each runner whose program is busy. Other processes read it to see whether
 * they are needed, without searching the folders of all past runs. A file is named after its process (boot id, pid and
 * start time), so that a reader can recognise the entry of a killed runner and remove it.
 */
import { closeSync, existsSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { listFolder } from "../../lib/list-folder.ts";
import { findProcess, parseProcessHandle, type ProcessHandle } from "../detached-process/detached-process.ts";
import type { RunSpec } from "./protocol.ts";

export interface RosterEntry {
  /** Adds the entry while the program is busy, and removes it otherwise. */
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
      // Perhaps the disk is full. The next call tries again, and readers ignore an entry whose process is dead.
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
  removeDead(folder).catch(() => undefined); // leftover entries do no harm
}

/** Whether the roster names a live process. */
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

/** `db/embedded/end-postmaster.sh` reads these names as well. */
function entryName({ bootId, pid, startTime }: ProcessHandle): string {
  return [bootId, pid, encodeURIComponent(startTime)].join(".");
}

function parseEntryName(name: string): ProcessHandle | undefined {
  const [bootId, pid, startTime = ""] = name.split(".");
  return parseProcessHandle({ bootId, pid: Number(pid), startTime: decodeURIComponent(startTime) });
}
