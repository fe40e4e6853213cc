import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { because, NO_ROOT } from "../../../test/skip-reasons/skip-reasons.ts";
import { removeEntry } from "./remove-entry.ts";
import { measureTree, removeTree } from "./remove-tree.ts";

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "headgate-tree-"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const shell = (script: string): string => execFileSync("/bin/sh", ["-ec", script], { cwd: base, encoding: "utf8" });

test("a folder with paths too long for a system call is deleted, and the targets of its links remain", async () => {
  mkdirSync(join(base, "kept"));
  writeFileSync(join(base, "kept", "file"), "");
  mkdirSync(join(base, "tree"));
  symlinkSync(join(base, "kept"), join(base, "tree", "link"));
  shell("cd tree; n=$(printf '%0200d' 0); for i in $(seq 50); do mkdir $n; cd -P $n; done");
  await removeTree(join(base, "tree"));
  expect(existsSync(join(base, "tree"))).toBe(false);
  expect(existsSync(join(base, "kept", "file"))).toBe(true);
  await removeTree(join(base, "tree"));
});

// Root ignores permissions; `isolation.test.ts` shows the same for a server that is not root.
test.skipIf(process.getuid?.() === 0)(
  "a folder is deleted even if its owner has no permission on folders inside",
  because("root ignores permissions"),
  async () => {
    shell("mkdir -p tree/closed/inside; touch tree/closed/inside/file; chmod 0 tree/closed/inside tree/closed");
    await removeTree(join(base, "tree"));
    expect(existsSync(join(base, "tree"))).toBe(false);
  },
);

test("the calling thread does little itself while many files are removed", async () => {
  shell("mkdir -p tree/inner; cd tree/inner; seq 5000 | xargs touch; cp -r ../../tree ../../other");
  const busyMs = async (work: () => unknown): Promise<number> => {
    const before = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  };
  const inThisThread = await busyMs(() => rmSync(join(base, "other"), { recursive: true }));
  const before = performance.eventLoopUtilization();
  const waitedMs = await busyMs(() => removeTree(join(base, "tree")));
  expect(waitedMs).toBeLessThan(inThisThread / 2);
  expect(performance.eventLoopUtilization(before).idle).toBeGreaterThan(0); // it was free for other work meanwhile
  expect(existsSync(join(base, "tree"))).toBe(false);
});

test("folders are removed for a server that runs with the lowest priority", () => {
  shell("mkdir -p ours/tree/inner; touch ours/tree/inner/file");
  const isRoot = process.getuid?.() === 0;
  if (isRoot) shell("chown -R 65534:65534 ours; chmod 711 .");
  const program = `const { removeTree } = await import("${new URL("remove-tree.ts", import.meta.url).href}");
    await removeTree(process.argv[1]);`;
  const command = ["-n", "19", process.execPath, "--input-type=module", "-e", program, join(base, "ours", "tree")];
  execFileSync("nice", command, isRoot ? { uid: 65_534, gid: 65_534 } : {});
  expect(existsSync(join(base, "ours", "tree"))).toBe(false);
});

test("folders are removed at any depth", async () => {
  mkdirSync(join(base, "tree", ...Array.from({ length: 400 }, () => "inner")), { recursive: true });
  await removeTree(join(base, "tree"));
  expect(existsSync(join(base, "tree"))).toBe(false);
});

test("a file is removed, and a link without its target", async () => {
  writeFileSync(join(base, "file"), "");
  symlinkSync(join(base, "file"), join(base, "link"));
  await removeTree(join(base, "link"));
  expect(existsSync(join(base, "file"))).toBe(true);
  await removeTree(join(base, "file"));
  expect(readdirSync(base)).toEqual([]);
});

test("files and folders are measured, and links are not followed", async () => {
  mkdirSync(join(base, "tree"));
  writeFileSync(join(base, "tree", "file"), Buffer.alloc(100_000, 1));
  symlinkSync(join(base, "tree"), join(base, "link"));
  for (const path of ["tree", "tree/file"]) {
    const bytes = await measureTree(join(base, path));
    expect(bytes).toBeGreaterThanOrEqual(100_000);
    expect(bytes).toBeLessThan(200_000);
  }
  expect(await measureTree(join(base, "link"))).toBeLessThan(10_000);
  expect(await measureTree(join(base, "absent"))).toBe(0);
});

test.skipIf(process.getuid?.() !== 0)(
  "a folder of another user is removed from a folder of ours",
  because(NO_ROOT),
  async () => {
    shell("mkdir -p tree/theirs/closed; touch tree/ours tree/theirs/closed/file; chmod 0 tree/theirs/closed");
    shell("chown -R 200001:200001 tree/theirs");
    await removeTree(join(base, "tree"));
    expect(existsSync(join(base, "tree"))).toBe(false);
  },
);

test("a program that closes a folder again and again leaves no descriptors open, and the folder is gone in the end", () => {
  const tree = join(base, "tree");
  mkdirSync(join(tree, ...Array.from({ length: 300 }, () => "inner")), { recursive: true });
  if (process.getuid?.() === 0) shell("chown -R 200001:200001 tree");
  const countDescriptors = (): number => readdirSync("/proc/self/fd").length;
  const before = countDescriptors();
  let most = 0;
  const removal = removeEntry(tree);
  while (removal.next().done !== true) {
    chmodSync(tree, 0o500);
    most = Math.max(most, countDescriptors());
  }
  expect(most - before).toBeLessThan(100);
  expect(countDescriptors()).toBe(before);
  expect(existsSync(tree)).toBe(false);
});

test("a removal gives up after some minutes if a program keeps adding files", () => {
  mkdirSync(join(base, "tree"));
  let minutes = 0;
  const removal = removeEntry(join(base, "tree"), () => minutes * 60_000);
  const addFiles = (): void => {
    while (removal.next().done !== true) writeFileSync(join(base, "tree", `file${minutes++}`), "");
  };
  writeFileSync(join(base, "tree", "file"), "");
  expect(addFiles).toThrow(/programs still add some/);
  expect(minutes).toBeGreaterThan(4);
});
