import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { measureUsage } from "./disk-usage.ts";

const MIN_BYTES = 4096;
const FILE_BYTES = 1_000_000;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "headgate-usage-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function measure(path: string): { bytes: number; steps: number } {
  const measuring = measureUsage(path, MIN_BYTES);
  for (let steps = 0; ; steps += 1) {
    const { done, value } = measuring.next();
    if (done === true) return { bytes: value, steps };
  }
}

test.each([0o000, 0o100, 0o200, 0o400])("a folder with the mode %o is measured with its whole content", (mode) => {
  const closed = join(root, "closed");
  mkdirSync(join(closed, "inner"), { recursive: true });
  writeFileSync(join(closed, "inner", "file"), Buffer.alloc(FILE_BYTES, 1));
  chmodSync(join(closed, "inner"), mode);
  chmodSync(closed, mode);
  const { bytes } = measure(root);
  expect(bytes).toBeGreaterThanOrEqual(FILE_BYTES);
  expect(bytes).toBeLessThan(2 * FILE_BYTES);
});

test("the target of a link is neither measured nor opened", () => {
  const [inside, outside] = [join(root, "inside"), join(root, "outside")];
  for (const folder of [inside, outside]) mkdirSync(folder);
  writeFileSync(join(outside, "file"), Buffer.alloc(FILE_BYTES, 1));
  chmodSync(outside, 0o500);
  symlinkSync(outside, join(inside, "link"));
  expect(measure(inside).bytes).toBeLessThan(FILE_BYTES);
  expect(measure(join(inside, "link")).bytes).toBe(0);
  expect(statSync(outside).mode & 0o777).toBe(0o500);
});

test("a measurement yields between folders, even if each has few entries", () => {
  for (let each = 0; each < 20; each += 1) mkdirSync(join(root, String(each)));
  expect(measure(root).steps).toBeGreaterThanOrEqual(20);
});

test("a folder that does not exist takes no space", () => {
  expect(measure(join(root, "absent")).bytes).toBe(0);
});
