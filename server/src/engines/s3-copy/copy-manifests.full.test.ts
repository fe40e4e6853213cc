import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { useCopyFolders } from "../../../test/support/copy-folders.ts";

const { copies, putFiles, filesIn } = useCopyFolders();
const program = fileURLToPath(new URL("process/main.ts", import.meta.url));

function manifest(lines: number): Buffer {
  const entries: string[] = [];
  for (let at = 0; at < lines; at += 1) {
    const baseName = `day=${at % 365}/part-${String((at * 7919) % lines).padStart(9, "0")}.gz`;
    entries.push(
      JSON.stringify({ path: `s3://logs/events/${baseName}`, baseName, srcDir: "s3://logs/events", size: at }),
    );
  }
  return gzipSync(`${entries.join("\n")}\n`);
}

/** The peak memory of a copy's process, in MiB. */
async function copyWith(lines: number): Promise<number> {
  const src = putFiles(`million-${lines}`, { "in/new": "1", "m.gz": manifest(lines) });
  const dest = `file://${copies.files}/million-out-${lines}`;
  const args = `--src ${src}/in --dest ${dest} --previousManifest ${src}/m.gz --outputManifest m.gz`;
  const request = join(copies.files, `request-${lines}.json`);
  writeFileSync(request, JSON.stringify(copies.request(args)));
  const child = spawn(process.execPath, ["--max-semi-space-size=4", program, request], { stdio: "ignore" });
  const ended = once(child, "exit");
  let most = 0;
  while (child.exitCode === null) {
    most = Math.max(most, peakMiB(child.pid ?? 0));
    await Promise.race([ended, pause(20)]);
  }
  expect(child.exitCode).toBe(0);
  expect(Object.keys(filesIn(`million-out-${lines}`))).toEqual(["m.gz", "new"]);
  return most;
}

/** 0: the process has ended. */
function peakMiB(pid: number): number {
  try {
    return Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** A process that held the entries would take about four times the memory; sorting them takes up to 1.8 times. */
test("a manifest of a million lines is not held in memory", async () => {
  const small = await copyWith(1000);
  const large = await copyWith(1_000_000);
  expect(small).toBeGreaterThan(20);
  expect(large / small).toBeLessThan(2.2);
});
