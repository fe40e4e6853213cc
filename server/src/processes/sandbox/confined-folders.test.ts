import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeInput } from "./confined-folders.ts";

test("an input file that its user replaces by a link while it is written does not hand over the link's target", async () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-input-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [path, target] = [join(folder, "file"), join(folder, "target")];
  writeFileSync(target, "of the machine");
  const identity = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  // A change of the owner changes this time, even if the owner stays the same.
  const before = statSync(target, { bigint: true }).ctimeNs;
  const written = writeInput(folder, { file: "secret" }, identity);
  while (!existsSync(path)); // another thread creates the file; this one then prevents the next step
  unlinkSync(path);
  symlinkSync(target, path);
  await written;
  expect(statSync(target, { bigint: true }).ctimeNs).toBe(before);
});
