import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { readBootId, startTimeOfChild } from "../../lib/process-table.ts";
import type { ProcessHandle } from "../detached-process/detached-process.ts";
import { collect, conclude, type Run } from "./conclude-run.ts";
import { startDriver } from "./driver.ts";
import { markOf } from "./mark.ts";
import { fileNames, parseSpec, type RunSpec, type RunStatus } from "./protocol.ts";
import { isDiskFullError, isFilesystemFull } from "./disk-full.ts";
import { rosterEntry } from "./roster.ts";
import { openResultFiles, type ResultFiles } from "./result-files.ts";
import { openStatusFile, type StatusFile } from "./status-file.ts";
import { superviseDriver } from "./supervise-driver.ts";
import { superviseStandby } from "./supervise-standby.ts";
import { claimFolder } from "./claim-and-order.ts";
import { watchForEnd, type EndReason } from "./watch-for-end.ts";
import { watchDriver } from "./watch-resources.ts";

/** Runs the program of the folder's spec, at most once. See `protocol.ts` for the states. */
export async function runFolder(path: string): Promise<void> {
  process.on("SIGHUP", () => undefined);
  // From here on the folder may be moved.
  process.chdir(path);
  const folder = ".";
  const runner = await ownHandle();
  if (!claimFolder(folder, runner)) return;
  const file = openStatusFile(folder);
  const status: RunStatus = {
    state: "starting",
    runner,
    driver: null,
    startedAt: null,
    endedAt: null,
    exitCode: null,
    signal: null,
    cause: null,
    message: null,
  };
  file.write(status);
  const final = await start(folder, file, status);
  await writeFinal(folder, file, { ...final, state: "ended", endedAt: new Date().toISOString() });
}

async function ownHandle(): Promise<ProcessHandle> {
  const startTime = await startTimeOfChild(process.pid);
  return { bootId: await readBootId(), pid: process.pid, startTime: startTime ?? "" };
}

async function start(folder: string, file: StatusFile, status: RunStatus): Promise<RunStatus> {
  let spec: RunSpec;
  let results: ResultFiles;
  try {
    spec = parseSpec(readFileSync(join(folder, fileNames.spec), "utf8"));
    results = openResultFiles(folder, spec);
  } catch (error) {
    return { ...status, ...failure(folder, error) };
  }
  const roster = rosterEntry(spec, status.runner);
  try {
    const driver = await startDriver(folder, spec, status.runner);
    const run = { file, spec, results, driver, roster, watch: watchDriver(spec, driver) };
    return await (spec.standby === null
      ? supervise(folder, run, status)
      : superviseStandby(folder, run, spec.standby, status));
  } catch (error) {
    results.close([messageOf(error)]);
    return { ...status, ...failure(folder, error) };
  } finally {
    roster.leave();
  }
}

function failure(folder: string, error: unknown): Pick<RunStatus, "cause" | "message"> {
  return {
    cause: isDiskFullError(error) || isFilesystemFull(folder) ? "disk-full" : "spawn-failed",
    message: messageOf(error),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function supervise(folder: string, run: Run, status: RunStatus): Promise<RunStatus> {
  const { file, spec, driver, roster, watch } = run;
  const mustEnd = watchForEnd(folder, spec, status.runner.bootId);
  const check = (): EndReason | undefined => mustEnd() ?? watch.check();
  const beat = (): void => {
    file.touch();
    roster.update();
  };
  const supervision = superviseDriver(driver, markOf(status.runner), check, beat);
  const collected = collect(run, supervision);
  const running: RunStatus = {
    ...status,
    state: "running",
    driver: driver.handle,
    startedAt: new Date().toISOString(),
  };
  const tooLate = mustEnd();
  if (tooLate === undefined) {
    file.write(running);
    roster.update();
    driver.release();
  } else {
    supervision.end({ ...tooLate, graceMs: 0 });
  }
  const { exit, end } = await conclude(folder, run, supervision, collected);
  return tooLate === undefined ? { ...running, ...exit, ...end } : { ...status, ...end };
}

/** On a full disk it retries, because the server considers a run without a final status lost. */
async function writeFinal(folder: string, file: StatusFile, status: RunStatus): Promise<void> {
  while (existsSync(join(folder, fileNames.taken))) {
    try {
      file.write(status);
      return;
    } catch {
      await delay(1000);
    }
  }
}
