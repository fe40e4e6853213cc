import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findDataDirHolder, lockDataDir } from "./data-dir-lock.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "headgate-lock-"));
  chmodSync(root, 0o755);
});
afterEach(() => rmSync(root, { recursive: true }));

test("a second holder is refused with the pid of the first, and accepted after its release", () => {
  const lock = lockDataDir(root);
  expect(() => lockDataDir(root)).toThrow(`another Headgate (pid ${process.pid}) uses ${root}`);
  expect(statSync(join(root, "headgate.lock")).mode & 0o777).toBe(0o600);
  lock.release();
  lock.release();
  lockDataDir(root).release();
});

test("two data directories have separate locks", () => {
  const first = lockDataDir(join(root, "first"));
  const second = lockDataDir(join(root, "second"));
  expect([first.dataDir, second.dataDir]).toEqual([join(root, "first"), join(root, "second")]);
  first.release();
  second.release();
});

test("a holder is found; a missing folder has none, and one that cannot be read is an error", () => {
  const lock = lockDataDir(root);
  expect(findDataDirHolder(root)).toBe(String(process.pid));
  lock.release();
  expect(findDataDirHolder(root)).toBeUndefined();
  expect(findDataDirHolder(join(root, "missing"))).toBeUndefined();
  const unreadable = join(root, "loop"); // also for root
  symlinkSync(unreadable, unreadable);
  expect(() => findDataDirHolder(unreadable)).toThrow(/^HEADGATE_DATA_DIR: .*headgate\.lock cannot be read/);
});

/** Another process locks the data directory, prints a line, and goes on with `then`. */
async function lockElsewhere(then: string): Promise<ChildProcessByStdio<null, Readable, null>> {
  const code = `
    import { lockDataDir } from "${new URL("data-dir-lock.ts", import.meta.url).href}";
    const lock = lockDataDir(${JSON.stringify(root)});
    console.log("locked");
    ${then}
  `;
  const holder = spawn(process.execPath, ["--expose-gc", "--input-type=module", "--eval", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(holder.stdout, "data");
  return holder;
}

test("a lock that another process holds only for an instant is waited for", async () => {
  const holder = await lockElsewhere("setTimeout(() => lock.release(), 50);");
  lockDataDir(root).release();
  await once(holder, "close");
});

test("another process holds the lock until it is killed", async () => {
  const holder = await lockElsewhere("globalThis.gc(); setInterval(() => undefined, 60_000);");
  expect(() => lockDataDir(root)).toThrow(
    `another Headgate (pid ${holder.pid}) uses ${root}: if it is a server, \`npm run`,
  );
  holder.kill("SIGKILL");
  await once(holder, "close");
  lockDataDir(root).release();
});
