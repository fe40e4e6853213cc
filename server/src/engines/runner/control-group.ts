/**
 * A control group (version 2) for one run, where the server may make one: then the kernel itself holds the limits and
 * counts what the runner cannot see. The runner goes on watching beside it, and without one its watch holds alone.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sizeText } from "../../lib/size-text.ts";
import type { ResourceLimits } from "./protocol.ts";

export interface ControlGroup {
  /** With all that the process starts from now on. */
  add(pid: number): void;
  /** Which limit the kernel has enforced, or that it has ended the program for want of memory; undefined: neither. */
  excess(): string | undefined;
  /** When no process is left in it. */
  remove(): void;
}

/** The kernel's default, as nice 0 is. */
const EQUAL_WEIGHT = 100;
/** Of all programs together, beside the server. */
const PROGRAMS_WEIGHT = 20;

/** Of the group that the groups of runs are in: the weight of a run's own group counts among runs only. */
export function weightOfRuns(nice: number): number {
  return nice === 0 ? EQUAL_WEIGHT : PROGRAMS_WEIGHT;
}

/** As the kernel's scheduler does it: each step of nice is worth a fifth less. */
function weightOf(nice: number): number {
  return Math.max(1, Math.round(EQUAL_WEIGHT / 1.25 ** nice));
}

/** The kernel and the watch of the runner say it in the same words. */
export function memoryExcess(seen: string, limitBytes: number): string {
  return `too much memory: ${seen}, and its limit is ${sizeText(limitBytes)} (HEADGATE_RUN_MEMORY)`;
}

/** The files of a group and what is written into them, in this order. */
export function groupFiles({ tasks, memoryBytes, nice }: ResourceLimits): readonly [name: string, value: string][] {
  return [
    ["pids.max", tasks === null ? "max" : String(tasks)],
    ["memory.max", memoryBytes === null ? "max" : String(memoryBytes)],
    ["memory.oom.group", "1"],
    ["cpu.weight", String(weightOf(nice))],
  ];
}

/** Undefined: it cannot be made, and the runner's watch has to do. */
export function openControlGroup(parent: string, name: string, limits: ResourceLimits): ControlGroup | undefined {
  const folder = join(parent, name);
  try {
    mkdirSync(folder);
    for (const [file, value] of groupFiles(limits)) writeFileSync(join(folder, file), value);
  } catch {
    return undefined;
  }
  const count = (file: string, event: string): number => {
    try {
      return Number(new RegExp(`^${event} (\\d+)$`, "m").exec(readFileSync(join(folder, file), "latin1"))?.[1] ?? 0);
    } catch {
      return 0;
    }
  };
  return {
    add(pid) {
      try {
        writeFileSync(join(folder, "cgroup.procs"), String(pid));
      } catch {
        // It has just ended, or the group was taken from us: the watch goes on.
      }
    },
    excess() {
      const { tasks, memoryBytes } = limits;
      if (tasks !== null && count("pids.events", "max") > 0) {
        return `too many processes: HEADGATE_RUN_PROCESSES allows ${tasks}`;
      }
      if (count("memory.events", "oom_kill") === 0) return undefined;
      // `oom` counts when the group itself was at its limit, `oom_kill` also what the kernel ended for the machine's sake.
      return memoryBytes !== null && count("memory.events", "oom") > 0
        ? memoryExcess("the kernel gave it no more", memoryBytes)
        : "the machine ran out of memory, and the kernel ended the program";
    },
    remove() {
      try {
        rmdirSync(folder);
      } catch {
        // The next start of the server removes empty ones.
      }
    },
  };
}
