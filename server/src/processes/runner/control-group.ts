/**
 * A control group (version 2) for one run, where the server may create one. The kernel then enforces the limits and
 * counts what the runner cannot see. The runner checks the limits in any case, and without a group only the runner
 * does.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sizeText } from "../../lib/size-text.ts";
import type { ResourceLimits } from "./protocol.ts";

export interface ControlGroup {
  /** Includes all processes that this one starts later. */
  add(pid: number): void;
  /** The limit that the kernel has enforced, or that it killed the program for lack of memory; undefined: neither. */
  excess(): string | undefined;
  /** Only when no process is left in the group. */
  remove(): void;
}

/** The kernel's default, which corresponds to nice 0. */
const EQUAL_WEIGHT = 100;
/** The weight of all programs together, compared with the server. */
const PROGRAMS_WEIGHT = 20;

/** For the parent of all runs' groups: the weight of a run's own group counts only among runs. */
export function cpuWeightOfRuns(nice: number): number {
  return nice === 0 ? EQUAL_WEIGHT : PROGRAMS_WEIGHT;
}

/** As in the kernel's scheduler, each step of nice lowers the weight by a fifth. */
function cpuWeight(nice: number): number {
  return Math.max(1, Math.round(EQUAL_WEIGHT / 1.25 ** nice));
}

/** The same message whether the kernel or the runner enforces the limit. */
export function memoryLimitMessage(seen: string, limitBytes: number): string {
  const cure = "use less, or ask the operator to raise HEADGATE_RUN_MEMORY";
  return `too much memory: ${seen}, and its limit is ${sizeText(limitBytes)}: ${cure}`;
}

/** The files of a group and their contents, in the order of writing. */
export function groupFiles({ tasks, memoryBytes, nice }: ResourceLimits): readonly [name: string, value: string][] {
  return [
    ["pids.max", tasks === null ? "max" : String(tasks)],
    ["memory.max", memoryBytes === null ? "max" : String(memoryBytes)],
    ["memory.oom.group", "1"],
    ["cpu.weight", String(cpuWeight(nice))],
  ];
}

/** Undefined: the group cannot be created, so only the runner checks the limits. */
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
        // The process has just ended, or the group was removed: the runner still checks the limits.
      }
    },
    excess() {
      const { tasks, memoryBytes } = limits;
      if (tasks !== null && count("pids.events", "max") > 0) {
        return `too many processes: HEADGATE_RUN_PROCESSES allows ${tasks}`;
      }
      if (count("memory.events", "oom_kill") === 0) return undefined;
      // `oom` counts events at the group's own limit, `oom_kill` also kills because the machine ran out of memory.
      return memoryBytes !== null && count("memory.events", "oom") > 0
        ? memoryLimitMessage("the kernel refused to give it more", memoryBytes)
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
