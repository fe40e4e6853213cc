import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openControlGroup } from "./control-group.ts";
import { findControlGroups, SERVER_GROUP } from "./find-control-groups.ts";

/** A folder with the layout of the kernel's, but of plain files. */
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "headgate-groups-"));
  writeFileSync(join(root, "cgroup.controllers"), "cpuset cpu io memory pids\n");
});
afterEach(() => rmSync(root, { recursive: true }));

const limits = {
  tasks: 40,
  sessions: null,
  memoryBytes: 1_000_000,
  outputBytes: null,
  diskBytes: null,
  folder: ".",
  nice: 10,
  controlGroup: null,
};
const read = (...names: string[]): string => readFileSync(join(root, ...names), "utf8");

test("a group has the limits of its run, holds its process and names the limit that the kernel enforced", () => {
  const group = openControlGroup(root, "run", limits);
  expect(["pids.max", "memory.max", "memory.oom.group", "cpu.weight"].map((name) => read("run", name))).toEqual([
    "40",
    "1000000",
    "1",
    "11",
  ]);
  group?.add(77);
  expect(read("run", "cgroup.procs")).toBe("77");
  expect(group?.excess()).toBeUndefined();
  writeFileSync(join(root, "run", "memory.events"), "oom 0\noom_kill 2\noom_group_kill 1\n");
  expect(group?.excess()).toMatch(/^the machine ran out of memory/);
  writeFileSync(join(root, "run", "memory.events"), "oom 1\noom_kill 2\noom_group_kill 1\n");
  expect(group?.excess()).toMatch(/^too much memory: .* its limit is 1m: use less, or .* raise HEADGATE_RUN_MEMORY$/);
  writeFileSync(join(root, "run", "pids.events"), "max 3\n");
  expect(group?.excess()).toBe("too many processes: HEADGATE_RUN_PROCESSES allows 40");
});

test("no group is created when its parent does not exist", () => {
  expect(openControlGroup(join(root, "absent"), "run", limits)).toBeUndefined();
});

describe("groups are created", () => {
  const find = (own: string, isRoot: boolean): ReturnType<typeof findControlGroups> => {
    writeFileSync(join(root, "self"), `1:name=x:/\n0::${own}\n`);
    return findControlGroups(10, { root, self: join(root, "self"), isRoot });
  };

  test("beside the server's own group when systemd has delegated the parent", () => {
    mkdirSync(join(root, "system.slice/headgate.service", SERVER_GROUP), { recursive: true });
    const folder = join(root, "system.slice/headgate.service/headgate-runs");
    expect(find(`/system.slice/headgate.service/${SERVER_GROUP}`, false)).toEqual({ kind: "usable", folder });
    expect(read("system.slice/headgate.service/cgroup.subtree_control")).toBe("+cpu +memory +pids");
    expect(existsSync(join(folder, "cgroup.subtree_control"))).toBe(true);
    expect(read("system.slice/headgate.service/headgate-runs/cpu.weight")).toBe("20");
  });

  test("at the top by a server that runs as root", () => {
    expect(find("/user.slice/session", true)).toEqual({ kind: "usable", folder: join(root, "headgate-runs") });
  });

  test("neither in a group that is not delegated nor without the controllers", () => {
    expect(find("/user.slice/session", false)).toMatchObject({
      kind: "absent",
      reason: expect.stringContaining("delegated"),
    });
    writeFileSync(join(root, "cgroup.controllers"), "cpu\n");
    expect(find("/", true)).toMatchObject({ kind: "absent", reason: expect.stringContaining("version 2") });
  });
});
