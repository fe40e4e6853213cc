import { chmodSync, mkdtempSync } from "node:fs";
import { mkdir, readdir, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { provideBinaries } from "./binaries.ts";

let cacheDir: string;
beforeEach(() => {
  cacheDir = mkdtempSync(join(tmpdir(), "headgate-cache-"));
  chmodSync(cacheDir, 0o755);
});
afterEach(() => rm(cacheDir, { recursive: true }));

test("two concurrent copies leave one complete copy that other users can run, and partial ones are removed", async () => {
  const abandoned = join(cacheDir, "postgres-18.3.0.partial-00");
  await mkdir(abandoned);
  await utimes(abandoned, 0, 0);
  const said: string[] = [];
  const before = process.umask(0o077);
  const [binaries, again] = await Promise.all([
    provideBinaries(cacheDir, (line) => said.push(line)),
    provideBinaries(cacheDir, (line) => said.push(line)),
  ]).finally(() => process.umask(before));
  expect(again).toEqual(binaries);
  expect(await readdir(cacheDir)).toEqual([`postgres-${binaries.version}`]);
  expect((await stat(binaries.postgres)).mode & 0o777).toBe(0o755);
  expect((await stat(binaries.folder)).mode & 0o777).toBe(0o755);
  const libraries = await readdir(join(binaries.folder, "..", "lib"), { withFileTypes: true });
  expect(libraries.some((entry) => entry.name.startsWith("libpq.") && entry.isSymbolicLink())).toBe(true);
  said.length = 0;
  await provideBinaries(cacheDir, (line) => said.push(line));
  expect(said).toEqual([]);
});
