import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { CopiedSource } from "./finished-outputs.ts";
import type { ReportLine } from "./report.ts";
import { reportCopied } from "./report-copied.ts";

const scratchFolder = mkdtempSync(join(tmpdir(), "headgate-report-"));
afterAll(() => rmSync(scratchFolder, { recursive: true }));

async function* copied(count: number): AsyncGenerator<CopiedSource> {
  for (let at = count; at > 0; at -= 1) {
    const uri = `s3://in/${String(at).padStart(9, "0")}`;
    yield { source: { uri, size: at, etag: null, modifiedMs: 0 }, output: `a b/${at}` };
  }
}

test("copied files are reported in the order of their sources", async () => {
  const lines: ReportLine[] = [];
  const { signal } = new AbortController();
  const report = (more: readonly ReportLine[]): void => void lines.push(...more);
  await reportCopied(copied(2500), { dest: "s3://out/x", scratchFolder, signal, report });
  expect(lines).toHaveLength(2500);
  expect(lines[0]).toEqual({ copied: ["s3://in/000000001", "s3://out/x/a b/1", 1] });
  expect(lines.at(-1)).toEqual({ copied: ["s3://in/000002500", "s3://out/x/a b/2500", 2500] });
});

test("a report of many files lets timers run, and ends when the copy is cancelled", async () => {
  const ending = new AbortController();
  let reported = 0;
  const reporting = reportCopied(copied(20_000), {
    dest: "s3://out",
    scratchFolder,
    signal: ending.signal,
    report(lines) {
      if (reported === 0) setImmediate(() => ending.abort(new Error("cancelled")));
      reported += lines.length;
    },
  });
  await expect(reporting).rejects.toThrow("cancelled");
  expect(reported).toBeLessThan(20_000);
});
