import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { cpuWeightOfRuns } from "./control-group.ts";

/** The folder in which groups of runs can be created, or why there is none. */
export type ControlGroups =
  | { readonly kind: "usable"; readonly folder: string }
  | { readonly kind: "absent"; readonly reason: string };

/** The subgroup in which systemd starts the server (`DelegateSubgroup=`); its parent is delegated to the server. */
export const SERVER_GROUP = "headgate-server";
const RUNS_GROUP = "headgate-runs";
const CONTROLLERS = ["cpu", "memory", "pids"];

/**
 * Searches the control groups (version 2) for a part that the server may manage: delegated by systemd or, as root, all
 * of them. A group with processes in it cannot have subgroups, so a server inside such a group creates none.
 */
export function findControlGroups(
  nice: number,
  { root, self, isRoot } = { root: "/sys/fs/cgroup", self: "/proc/self/cgroup", isRoot: process.getuid?.() === 0 },
): ControlGroups {
  const absent = (reason: string): ControlGroups => ({ kind: "absent", reason });
  const own = /^0::(\/.*)$/m.exec(readText(self))?.[1];
  const available = readText(join(root, "cgroup.controllers")).trim().split(" ");
  if (own === undefined || !CONTROLLERS.every((name) => available.includes(name))) {
    return absent("no control groups of version 2 with cpu, memory and pids");
  }
  const isDelegated = basename(own) === SERVER_GROUP;
  if (!isDelegated && !isRoot) return absent("no control group is delegated to the server");
  const parent = isDelegated ? join(root, dirname(own)) : root;
  try {
    accessSync(parent, constants.W_OK);
    enable(parent);
    const folder = join(parent, RUNS_GROUP);
    mkdirSync(folder, { recursive: true });
    enable(folder);
    writeFileSync(join(folder, "cpu.weight"), String(cpuWeightOfRuns(nice)));
    removeEmpty(folder);
    return { kind: "usable", folder };
  } catch (error) {
    return absent(error instanceof Error ? error.message : String(error));
  }
}

function enable(folder: string): void {
  writeFileSync(join(folder, "cgroup.subtree_control"), CONTROLLERS.map((name) => `+${name}`).join(" "));
}

/** Removes the groups of killed runners. The kernel refuses to remove a group with processes. */
function removeEmpty(folder: string): void {
  for (const { name } of readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    try {
      rmdirSync(join(folder, name));
    } catch {
      // the group is in use
    }
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
