import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { weightOfRuns } from "./control-group.ts";

/** Where the groups of runs can be made, or why nowhere. */
export type ControlGroups =
  { readonly kind: "usable"; readonly folder: string } | { readonly kind: "absent"; readonly reason: string };

/** The subgroup that the systemd unit starts the server in (`DelegateSubgroup=`): its parent is ours to divide. */
export const SERVER_GROUP = "headgate-server";
const RUNS_GROUP = "headgate-runs";
const CONTROLLERS = ["cpu", "memory", "pids"];

/**
 * Looks for a part of the control groups (version 2) that is ours: delegated by systemd, or as root the whole. A group with
 * processes in it cannot be divided, so a server in the middle of somebody's group makes none.
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
    writeFileSync(join(folder, "cpu.weight"), String(weightOfRuns(nice)));
    removeEmpty(folder);
    return { kind: "usable", folder };
  } catch (error) {
    return absent(error instanceof Error ? error.message : String(error));
  }
}

function enable(folder: string): void {
  writeFileSync(join(folder, "cgroup.subtree_control"), CONTROLLERS.map((name) => `+${name}`).join(" "));
}

/** Left by runners that were killed. One with processes in it refuses. */
function removeEmpty(folder: string): void {
  for (const { name } of readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    try {
      rmdirSync(join(folder, name));
    } catch {
      // it is in use
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
