import { readFileSync, statSync } from "node:fs";
import { sizeText } from "../../lib/size-text.ts";
import { measureUsage, readDisk } from "../../lib/disk-usage.ts";
import { monotonicMs } from "./monotonic.ts";
import { parseRollup } from "./process-use.ts";
import type { Driver } from "./driver.ts";
import type { ResourceLimits, RunSpec } from "./protocol.ts";
import { findRunProcesses, type RunProcess, type RunProcesses } from "./run-processes.ts";
import type { EndReason } from "./watch-for-end.ts";
import { yieldSessions } from "./yield-to-others.ts";

/**
 * Watches what a program takes; the returned check says which limit it has exceeded. It holds alone, on machines without
 * control groups: it looks at the run's own processes four times a second, which takes about 0.05 ms for each.
 */
export function watchResources(limits: ResourceLimits, processes: RunProcesses): () => EndReason | undefined {
  const checkMemory = watchMemory(limits.memoryBytes, processes);
  const checkDisk = watchDisk(limits, processes);
  const giveWay = yieldSessions(limits.nice);
  return () => {
    const found = processes.list();
    giveWay(found);
    const message = checkTasks(limits.tasks, found) ?? checkMemory(found);
    if (message !== undefined) return { cause: "limit", message, graceMs: 0 };
    const tooMuchDisk = checkDisk();
    return tooMuchDisk === undefined
      ? undefined
      : { cause: "limit", message: tooMuchDisk, graceMs: 0, dropsOutput: true };
  };
}

/** Limits are the kernel's to tell on Linux alone. */
export function watchDriver({ resources }: RunSpec, { handle, group }: Driver): () => EndReason | undefined {
  if (resources === null || process.platform !== "linux") return () => undefined;
  const watch = watchResources(resources, findRunProcesses(handle.pid));
  return () => {
    const message = group?.excess();
    return message === undefined ? watch() : { cause: "limit", message, graceMs: 0 };
  };
}

/** The kernel refuses any more (`ulimit -u`), so reaching the limit is what there is to see. */
function checkTasks(limit: number | null, found: readonly RunProcess[]): string | undefined {
  const tasks = found.reduce((sum, { threads }) => sum + threads, 0);
  if (limit === null || tasks < limit) return undefined;
  return `too many processes: it has ${tasks} processes and threads, and HEADGATE_RUN_PROCESSES allows ${limit}`;
}

const EXACT_EVERY_MS = 1000;

/**
 * The sum over all processes counts a page as often as it is shared, so it is an upper bound. Only above the limit are the
 * exact shares read, for which the kernel walks through the page tables.
 */
function watchMemory(
  limit: number | null,
  processes: RunProcesses,
): (found: readonly RunProcess[]) => string | undefined {
  let exactAt = -Infinity;
  return (found) => {
    if (limit === null) return undefined;
    const files = processes.sharedMemoryBytes();
    const most = found.reduce((sum, { memoryBytes }) => sum + memoryBytes, files);
    if (most <= limit || monotonicMs() - exactAt < EXACT_EVERY_MS) return undefined;
    const used = exactMemory(found, files);
    if (used <= limit) {
      exactAt = monotonicMs();
      return undefined;
    }
    return `too much memory: it has ${sizeText(used)}, and its limit is ${sizeText(limit)} (HEADGATE_RUN_MEMORY)`;
  };
}

function exactMemory(found: readonly RunProcess[], fileBytes: number): number {
  let own = 0;
  let shared = 0;
  for (const { folder, memoryBytes } of found) {
    try {
      const { privateBytes, sharedMemoryBytes } = parseRollup(readFileSync(`${folder}/smaps_rollup`, "latin1"));
      own += privateBytes;
      shared += sharedMemoryBytes;
    } catch {
      own += isThere(folder) ? memoryBytes : 0;
    }
  }
  return own + Math.max(shared, fileBytes); // a file in /dev/shm may be mapped as well
}

function isThere(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false }) !== undefined;
}

const STEP_MS = 20;
const LOOK_EVERY_MS = 1000;
/** A measurement takes at most this part of the time; one that a shrinking disk calls for, more. */
const PART_OF_TIME = 1 / 50;
const PART_IN_NEED = 1 / 4;

/**
 * The folder is measured once a second, or more rarely where that takes long; sooner when the disk's free room has fallen
 * by a part of what the run has left. A measurement works at most 20 ms at each check, so that a folder with many files
 * is measured over several of them.
 */
function watchDisk({ diskBytes, folder }: ResourceLimits, processes: RunProcesses): () => string | undefined {
  let last = { used: 0, freeBytes: Infinity, at: -Infinity, workMs: 0 };
  let current: { readonly steps: Generator<undefined, number>; freeBytes: number; workMs: number } | undefined;
  return () => {
    const disk = diskBytes === null ? undefined : readDisk(folder);
    if (diskBytes === null || disk === undefined) return undefined;
    const begin = monotonicMs();
    if (current === undefined) {
      const isInNeed = last.freeBytes - disk.freeBytes >= (diskBytes - last.used) / 8;
      const pauseMs = isInNeed ? last.workMs / PART_IN_NEED : Math.max(LOOK_EVERY_MS, last.workMs / PART_OF_TIME);
      if (begin - last.at < pauseMs) return undefined;
      current = { steps: measureUsage(folder, disk.bytesPerInode), freeBytes: disk.freeBytes, workMs: 0 };
    }
    const measured = advance(current.steps);
    const workMs = current.workMs + monotonicMs() - begin;
    if (measured === undefined) {
      current.workMs = workMs;
      return undefined;
    }
    const used = measured + processes.deletedFileBytes(statSync(folder).dev);
    last = { used, freeBytes: current.freeBytes, at: monotonicMs(), workMs };
    current = undefined;
    if (used <= diskBytes) return undefined;
    return `too much disk: its files take ${sizeText(used)}, and HEADGATE_RUN_DISK allows ${sizeText(diskBytes)}`;
  };
}

/** Undefined: there is more to look at. */
function advance(measuring: Generator<undefined, number>): number | undefined {
  const begin = monotonicMs();
  for (;;) {
    const { done, value } = measuring.next();
    if (done === true) return value;
    if (monotonicMs() - begin >= STEP_MS) return undefined;
  }
}
