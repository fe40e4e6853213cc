import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Fault } from "../../lib/fault.ts";
import { lockDataDir } from "./data-dir-lock.ts";

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

test("another process holds the lock until it is killed", async () => {
  const code = `
    import { lockDataDir } from "${new URL("data-dir-lock.ts", import.meta.url).href}";
    lockDataDir(${JSON.stringify(root)});
    globalThis.gc();
    console.log("locked");
    setInterval(() => undefined, 60_000);
  `;
  const holder = spawn(process.execPath, ["--expose-gc", "--input-type=module", "--eval", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(holder.stdout, "data");
  expect(() => lockDataDir(root)).toThrow(new Fault("conflict", `another Headgate (pid ${holder.pid}) uses ${root}`));
  holder.kill("SIGKILL");
  await once(holder, "close");
  lockDataDir(root).release();
});
