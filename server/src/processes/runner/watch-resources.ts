import { statSync } from "node:fs";
import { sizeText } from "../../lib/size-text.ts";
import { isGroupedBySession, setSessionNice } from "../detached-process/session-nice.ts";
import { measureUsage, readDisk, usageText } from "../../lib/disk-usage.ts";
import { monotonicMs } from "./monotonic.ts";
import type { Driver } from "./driver.ts";
import { Measurement } from "./measurement.ts";
import { findRunProcesses, type RunProcess, type RunProcesses } from "./run-processes.ts";
import { watchMemory } from "./watch-memory.ts";
import type { ResourceLimits, RunSpec } from "./protocol.ts";
import type { EndReason } from "./watch-for-end.ts";

export interface ResourceWatch {
  /** The limit that the program has exceeded, if any. */
  check(): EndReason | undefined;
  /** The highest number of processes and threads seen. */
  peakTasks(): number;
}

/**
 * Enforces the limits also on machines without control groups. It inspects the run's processes four times a second,
 * which takes about 0.05 ms each.
 */
function watchResources(limits: ResourceLimits, processes: RunProcesses, isGrouped: boolean): ResourceWatch {
  const checkMemory = watchMemory(limits.memoryBytes, processes);
  const checkDisk = watchDisk(limits, processes);
  // Within a control group, sessions have no shares of their own.
  const checkSessions = isGrouped ? (): undefined => undefined : watchSessions(limits, processes);
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

/** Only Linux has /proc. A failed check ends neither the program nor the runner. */
export function watchDriver({ resources }: RunSpec, { handle, group }: Driver): ResourceWatch {
  if (resources === null || process.platform !== "linux") return { check: () => undefined, peakTasks: () => 0 };
  const watch = watchResources(resources, findRunProcesses(handle.pid), group !== undefined);
  let isOwnSet = !isGroupedBySession();
  return {
    ...watch,
    check() {
      isOwnSet ||= setSessionNice("/proc/self", 0); // the runner needs CPU time even if the program uses all of it
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

/** The kernel allows no more than the limit (`ulimit -u`), so reaching it counts as exceeding it. */
function checkTasks(limit: number | null, tasks: number): string | undefined {
  if (limit === null || tasks < limit) return undefined;
  return `too many processes: it has ${tasks} processes and threads, and HEADGATE_RUN_PROCESSES allows ${limit}`;
}

const DISK_STEP_MS = 20;
const MEASURE_EVERY_MS = 1000;
/** Measurements take at most this part of the time; more if the free space shrinks fast. */
const PART_OF_TIME = 1 / 50;
const PART_IF_SHRINKING = 1 / 4;

/**
 * The folder is measured once a second, or less often if that takes long; sooner if the disk's free space has shrunk by
 * a part of the run's remaining allowance. Each check spends about 20 ms on a measurement, so a folder with many files
 * is measured over several checks.
 */
function watchDisk({ diskBytes, folder }: ResourceLimits, processes: RunProcesses): () => string | undefined {
  const measurement = new Measurement(DISK_STEP_MS);
  let last = { used: 0, at: -Infinity, workMs: 0 };
  let freeBytes = Infinity; // when the last measurement began
  return () => {
    const disk = diskBytes === null ? undefined : readDisk(folder);
    if (diskBytes === null || disk === undefined) return undefined;
    if (!measurement.isUnderWay) {
      const isShrinking = freeBytes - disk.freeBytes >= (diskBytes - last.used) / 8;
      const pauseMs = isShrinking
        ? last.workMs / PART_IF_SHRINKING
        : Math.max(MEASURE_EVERY_MS, last.workMs / PART_OF_TIME);
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

function* filesOf(folder: string, minBytes: number, processes: RunProcesses): Generator<undefined, number> {
  const named = yield* measureUsage(folder, minBytes);
  const device = statSync(folder, { throwIfNoEntry: false })?.dev;
  return device === undefined ? named : named + (yield* processes.deletedFileBytes(device));
}

/** The kernel allows an unprivileged user one change every 100 ms. */
const SESSIONS_PER_CHECK = process.getuid?.() === 0 ? 32 : 1;
/** For all sessions but the program's first, so that many sessions together get little more than one. */
const LOWEST = 19;
/** A session that was started outside the sandbox has this id inside it. */
const OUTSIDE = 0;

/**
 * Where each session gets an equal share of the processor, a program with many sessions gets more than its share. Each
 * check lowers the priority of the next few new sessions. Returns why the program must end if it has too many.
 */
function watchSessions(
  { nice, sessions: limit }: Pick<ResourceLimits, "nice" | "sessions">,
  processes: RunProcesses,
): (found: readonly RunProcess[]) => string | undefined {
  if (nice === 0 || !isGroupedBySession()) return () => undefined;
  let lowered = new Set<number>();
  return (found) => {
    // In the order of the processes, so that the program's own session comes first.
    const sessions = new Set(found.map(({ session }) => session).filter((session) => session !== OUTSIDE));
    const [own] = sessions;
    lowered = lowered.intersection(sessions);
    const next = [...sessions.difference(lowered)].slice(0, SESSIONS_PER_CHECK);
    const folders = next.length === 0 ? new Map<number, string>() : processes.foldersBySession();
    for (const session of next) {
      const folder = folders.get(session);
      if (folder !== undefined && setSessionNice(folder, session === own ? nice : LOWEST)) lowered.add(session);
    }
    if (limit === null || sessions.size <= limit) return undefined;
    return (
      `too many sessions: the program has ${sessions.size}, and HEADGATE_RUN_SESSIONS allows ${limit}; ` +
      "start its processes without setsid"
    );
  };
}
