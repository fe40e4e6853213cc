import { readFileSync, statSync } from "node:fs";
import { sizeText } from "../../lib/size-text.ts";
import { isGroupedBySession, setSessionNice } from "../detached-process/session-nice.ts";
import { measureUsage, readDisk, usageText } from "../../lib/disk-usage.ts";
import { monotonicMs } from "./monotonic.ts";
import { memoryExcess } from "./control-group.ts";
import type { Driver } from "./driver.ts";
import { Measurement } from "./measurement.ts";
import { parseRollup } from "./process-use.ts";
import type { ResourceLimits, RunSpec } from "./protocol.ts";
import { findRunProcesses, type RunProcess, type RunProcesses } from "./run-processes.ts";
import type { EndReason } from "./watch-for-end.ts";
import { watchSessions } from "./watch-sessions.ts";

export interface ResourceWatch {
  /** Which limit the program has exceeded. */
  check(): EndReason | undefined;
  /** Most processes and threads that were seen at once. */
  peakTasks(): number;
}

/**
 * Watches what a program takes. It holds alone, on machines without control groups: it looks at the run's own processes
 * four times a second, which takes about 0.05 ms for each.
 */
function watchResources(limits: ResourceLimits, processes: RunProcesses, isGrouped: boolean): ResourceWatch {
  const checkMemory = watchMemory(limits.memoryBytes, processes);
  const checkDisk = watchDisk(limits, processes);
  // Within a control group, sessions have no shares of their own.
  const checkSessions = isGrouped ? (): undefined => undefined : watchSessions(limits);
  let peak = 0;
  return {
    check() {
      const found = processes.list();
      const tasks = found.reduce((sum, { threads }) => sum + threads, 0);
      peak = Math.max(peak, tasks);
      const message = checkTasks(limits.tasks, tasks) ?? checkSessions(found) ?? checkMemory(found);
      if (message !== undefined) return { cause: "limit", message, graceMs: 0 };
      const tooMuchDisk = checkDisk();
      return tooMuchDisk === undefined
        ? undefined
        : { cause: "limit", message: tooMuchDisk, graceMs: 0, dropsOutput: true };
    },
    peakTasks: () => peak,
  };
}

/** Only Linux shows what a process takes in /proc. A failed check ends neither the program nor the runner. */
export function watchDriver({ resources }: RunSpec, { handle, group }: Driver): ResourceWatch {
  if (resources === null || process.platform !== "linux") return { check: () => undefined, peakTasks: () => 0 };
  const watch = watchResources(resources, findRunProcesses(handle.pid), group !== undefined);
  let isOwnSet = !isGroupedBySession();
  return {
    ...watch,
    check() {
      isOwnSet ||= setSessionNice("/proc/self", 0); // we need CPU time even when the program uses all it can get
      const message = group?.excess();
      if (message !== undefined) return { cause: "limit", message, graceMs: 0 };
      try {
        return watch.check();
      } catch {
        return undefined;
      }
    },
  };
}

/** The kernel refuses any more (`ulimit -u`), so reaching the limit is what there is to see. */
function checkTasks(limit: number | null, tasks: number): string | undefined {
  if (limit === null || tasks < limit) return undefined;
  return `too many processes: it has ${tasks} processes and threads, and HEADGATE_RUN_PROCESSES allows ${limit}`;
}

const EXACT_EVERY_MS = 1000;
/** Memory runs out sooner than a disk, so the exact shares may take more of a check (250 ms). */
const MEMORY_STEP_MS = 100;

/**
 * The sum over all processes counts a page as often as it is shared, so it is an upper bound. Only above the limit are the
 * exact shares read, for which the kernel walks through the page tables: over several checks where that takes long.
 */
function watchMemory(
  limit: number | null,
  processes: RunProcesses,
): (found: readonly RunProcess[]) => string | undefined {
  const exact = new Measurement(MEMORY_STEP_MS);
  let fineAt = -Infinity;
  return (found) => {
    if (limit === null) return undefined;
    if (!exact.isUnderWay) {
      const files = processes.sharedMemoryBytes();
      const most = found.reduce((sum, { memoryBytes }) => sum + memoryBytes, files);
      if (most <= limit || monotonicMs() - fineAt < EXACT_EVERY_MS) return undefined;
      exact.begin(exactMemory(found, files));
    }
    const used = exact.advance()?.result;
    if (used === undefined) return undefined;
    if (used > limit) return memoryExcess(`it has ${sizeText(used)}`, limit);
    fineAt = monotonicMs();
    return undefined;
  };
}

function* exactMemory(found: readonly RunProcess[], fileBytes: number): Generator<undefined, number> {
  let own = 0;
  let shared = 0;
  for (const { folder, memoryBytes } of found) {
    yield;
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

const DISK_STEP_MS = 20;
const LOOK_EVERY_MS = 1000;
/** A measurement takes at most this part of the time; one that a shrinking disk calls for, more. */
const PART_OF_TIME = 1 / 50;
const PART_IN_NEED = 1 / 4;

/**
 * The folder is measured once a second, or more rarely where that takes long; sooner when the disk's free room has fallen
 * by a part of what the run has left. A measurement works about 20 ms at each check, so that a folder with many files
 * is measured over several of them.
 */
function watchDisk({ diskBytes, folder }: ResourceLimits, processes: RunProcesses): () => string | undefined {
  const measurement = new Measurement(DISK_STEP_MS);
  let last = { used: 0, at: -Infinity, workMs: 0 };
  let freeBytes = Infinity; // when the last measurement began
  return () => {
    const disk = diskBytes === null ? undefined : readDisk(folder);
    if (diskBytes === null || disk === undefined) return undefined;
    if (!measurement.isUnderWay) {
      const isInNeed = freeBytes - disk.freeBytes >= (diskBytes - last.used) / 8;
      const pauseMs = isInNeed ? last.workMs / PART_IN_NEED : Math.max(LOOK_EVERY_MS, last.workMs / PART_OF_TIME);
      if (monotonicMs() - last.at < pauseMs) return undefined;
      freeBytes = disk.freeBytes;
      measurement.begin(filesOf(folder, disk.bytesPerInode, processes));
    }
    const measured = measurement.advance();
    if (measured === undefined) return undefined;
    last = { used: measured.result, at: monotonicMs(), workMs: measured.workMs };
    if (last.used <= diskBytes) return undefined;
    return `too much disk: its files ${usageText(last.used)}, and HEADGATE_RUN_DISK allows ${sizeText(diskBytes)}`;
  };
}

function* filesOf(folder: string, leastBytes: number, processes: RunProcesses): Generator<undefined, number> {
  const named = yield* measureUsage(folder, leastBytes);
  const device = statSync(folder, { throwIfNoEntry: false })?.dev;
  return device === undefined ? named : named + (yield* processes.deletedFileBytes(device));
}
