import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { removeTree } from "./remove-tree.ts";

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
