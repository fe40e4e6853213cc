import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { LineLog } from "./run-log.ts";

const folder = mkdtempSync(join(tmpdir(), "headgate-line-log-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a log ends at its limit, also after a restart, and still says why the run failed", async () => {
  const path = join(folder, "log");
  for (let start = 0; start < 2; start += 1) {
    const log = new LineLog(path, 1000);
    for (let line = 0; line < 100; line += 1) await log.write("statement 1 of 100: select 1");
  }
  await new LineLog(path, 1000).explain(`[SOME_ERROR] ${"x".repeat(100_000)}`);
  const text = readFileSync(path, "utf8");
  expect(text).toContain("the log has reached its limit of 1000 bytes");
  expect(text).toContain("[SOME_ERROR] xxx");
  expect(text.length).toBeLessThan(1300 + 64 * 1024 + 100);
});
