import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { allFiles, useFaultyCopies } from "../../../test/support/faulty-copies.ts";
import { mountSmallDisk } from "../../../test/support/small-disk.ts";
import type { CopyEnd } from "./report.ts";
import { runCopy } from "./run-copy.ts";

const MIB = 1024 * 1024;
const copies = useFaultyCopies();
const disk = mountSmallDisk(8);
afterEach(() => disk.clear());
afterAll(() => disk.unmount());

// Skipped where mounting is not allowed.
describe.skipIf(!disk.isMounted)("a copy to a full disk", () => {
  test("ends with the reason, and leaves nothing unfinished", async () => {
    const src = await copies.put({ large: randomBytes(11 * MIB) });
    const account = { fileRoot: disk.dataDir };
    const out = join(disk.dataDir, "large-out");
    const { end } = await copies.bench.run(`--src ${src} --dest file://${out}`, { account });
    expect(end.failure).toMatch(/large: the disk is full$/);
    expect(allFiles(out)).toEqual([]);
  });

  test("ends with the reason for small files as well", async () => {
    const src = await copies.put({ small: randomBytes(64 * 1024) });
    disk.fill(32 * 1024);
    const out = join(disk.dataDir, "small-out");
    const { end } = await copies.bench.run(`--src ${src} --dest file://${out}`, {
      account: { fileRoot: disk.dataDir },
    });
    expect(end.failure).toMatch(/small: the disk is full$/);
    expect(allFiles(out)).toEqual([]);
  });

  test("that holds its journal fails, and its next attempt succeeds when there is room again", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `${"n".repeat(200)}${index}`);
    const src = copies.putFiles(Object.fromEntries(names.map((name) => [name, "x"])));
    const dest = copies.folder();
    const request = {
      ...copies.bench.request(`--src ${src} --dest ${dest}`),
      journalFolder: join(disk.dataDir, "journal"),
    };
    const attempt = (): Promise<CopyEnd> =>
      runCopy(request, { report: () => undefined, log: () => undefined, signal: new AbortController().signal });
    disk.fill(8 * 1024);
    expect((await attempt()).failure).toBe("the journal or a temporary file of the copy: the disk is full");
    disk.clear();
    expect((await attempt()).failure).toBeNull();
    expect(await copies.namesBelow(dest)).toEqual(names.toSorted());
  });
});
