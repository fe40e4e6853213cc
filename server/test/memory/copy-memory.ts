import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { COPY_PROGRAM } from "../../src/commands/copies/copy-program.ts";
import type { CopyRequest } from "../../src/engines/s3-copy/copy-request.ts";
import { parseReportLine, type CopyEnd } from "../../src/engines/s3-copy/report.ts";

const POLL_MS = 10;

/** Runs a copy in a process of its own, with the options of the product, and measures its peak memory. */
export async function peakOfCopy(request: CopyRequest): Promise<{ readonly end: CopyEnd; readonly peakMiB: number }> {
  const file = join(request.scratchFolder, "copy.json");
  writeFileSync(file, JSON.stringify(request));
  const child = spawn(process.execPath, [...COPY_PROGRAM.nodeOptions, COPY_PROGRAM.entry, file], {
    env: { PATH: "/usr/bin:/bin", NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let tail = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (tail = `${tail}${text}`.slice(-4096)));
  let isRunning = true;
  const exited = once(child, "exit").then(() => (isRunning = false));
  let peakKiB = 0;
  while (isRunning) {
    peakKiB = Math.max(peakKiB, highWaterKiB(child.pid ?? 0));
    await Promise.race([exited, pause(POLL_MS)]);
  }
  const last = parseReportLine(tail.trimEnd().split("\n").at(-1) ?? "");
  if (last === undefined || !("end" in last)) throw new Error(`the copy has not reported its end: ${tail}`);
  return { end: last.end, peakMiB: peakKiB / 1024 };
}

/** 0: it has ended. */
function highWaterKiB(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
