import { readFileSync, statSync } from "node:fs";
import { sizeText } from "../../lib/size-text.ts";
import { isGroupedBySession, setSessionNice } from "../detached-process/session-nice.ts";
import { measureUsage, readDisk, usageText } from "../../lib/disk-usage.ts";
import { monotonicMs } from "./monotonic.ts";
import { memoryLimitMessage } from "./control-group.ts";
import type { Driver } from "./driver.ts";
import { parseRollup, findRunProcesses, type RunProcess, type RunProcesses } from "./run-processes.ts";
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

const EXACT_EVERY_MS = 1000;
/** Memory runs out sooner than a disk, so this may take a larger part of a check interval (250 ms). */
const MEMORY_STEP_MS = 100;

/**
 * The sum over all processes counts a shared page several times, so it is an upper bound. The exact shares are read
 * only if that exceeds the limit, because the kernel has to walk the page tables; this may be spread over several
 * checks.
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
    if (used > limit) return memoryLimitMessage(`it has ${sizeText(used)}`, limit);
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
  return own + Math.max(shared, fileBytes); // a file in /dev/shm may be mapped too
}

function isThere(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false }) !== undefined;
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

function* filesOf(folder: string, leastBytes: number, processes: RunProcesses): Generator<undefined, number> {
  const named = yield* measureUsage(folder, leastBytes);
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
 * check lowers the priority of the next few sessions. Returns why the program must end if it has too many.
 */
function watchSessions({
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

/** Splits long work into steps of some milliseconds, so that timeout, cancel and lease are checked in between. */
export class Measurement {
  readonly #stepMs: number;
  #current: Generator<undefined, number> | undefined;
  #workMs = 0;

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  get isUnderWay(): boolean {
    return this.#current !== undefined;
  }

  begin(steps: Generator<undefined, number>): void {
    this.#current = steps;
    this.#workMs = 0;
  }

  /** Undefined: there is more to do. An exception ends the measurement. */
  advance(): { readonly result: number; readonly workMs: number } | undefined {
    const steps = this.#current;
    if (steps === undefined) return undefined;
    this.#current = undefined;
    const begin = monotonicMs();
    for (;;) {
      const { done, value } = steps.next();
      const tookMs = monotonicMs() - begin;
      if (done === true) return { result: value, workMs: this.#workMs + tookMs };
      if (tookMs < this.#stepMs) continue;
      this.#workMs += tookMs;
      this.#current = steps;
      return undefined;
    }
  }
}
