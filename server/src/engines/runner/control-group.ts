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
  /** Which limit the kernel has enforced; undefined: none. */
  excess(): string | undefined;
  /** When no process is left in it. */
  remove(): void;
}

/** The kernel's default for a group is 100. */
const PROGRAM_WEIGHT = 20;

/** The files of a group and what is written into them, in this order. */
export function groupFiles({ tasks, memoryBytes, nice }: ResourceLimits): readonly [name: string, value: string][] {
  return [
    ["pids.max", tasks === null ? "max" : String(tasks)],
    ["memory.max", memoryBytes === null ? "max" : String(memoryBytes)],
    ["memory.oom.group", "1"],
    ["cpu.weight", String(nice === 0 ? 100 : PROGRAM_WEIGHT)],
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
      if (memoryBytes !== null && count("memory.events", "oom_kill") > 0) {
        return `too much memory: its limit is ${sizeText(memoryBytes)} (HEADGATE_RUN_MEMORY)`;
      }
      return undefined;
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
