import { availableParallelism } from "node:os";
import type { Config } from "../config.ts";
import type { Share } from "../config/parse-value.ts";
import type { Allowance } from "../processes/runner/allowance.ts";
import { readDisk } from "../lib/disk-usage.ts";
import { bytesPerMiB } from "../lib/size-text.ts";

type LimitSettings = Pick<
  Config,
  "dataDir" | "outputLimitMiB" | "runProcesses" | "runSessions" | "runMemoryMiB" | "runDisk" | "runNice"
>;

/**
 * The resources that the settings allow a run on this machine. The defaults grow with the number of cores, because
 * Spark runs a task on each, with threads and perhaps a Python process.
 */
export function runAllowance(
  settings: LimitSettings,
  controlGroup: string | null,
  cores = availableParallelism(),
): Allowance {
  const { dataDir, outputLimitMiB, runProcesses, runSessions, runMemoryMiB, runDisk, runNice } = settings;
  return {
    tasks: unlessZero(runProcesses ?? 1024 + 128 * cores),
    sessions: unlessZero(runSessions),
    memoryBeyondMiB: unlessZero(runMemoryMiB ?? 2048 + 256 * cores),
    outputBytes: unlessZero(outputLimitMiB * bytesPerMiB),
    diskBytes: shareOfDisk(runDisk, dataDir),
    nice: runNice,
    controlGroup,
  };
}

/** Null: no limit. */
export function shareOfDisk(share: Share, dataDir: string): number | null {
  if ("miB" in share) return unlessZero(share.miB * bytesPerMiB);
  const disk = readDisk(dataDir);
  return disk === undefined ? null : Math.floor((disk.sizeBytes * share.percent) / 100);
}

function unlessZero(value: number): number | null {
  return value === 0 ? null : value;
}
