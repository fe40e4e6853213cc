import { readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { isOver, openRunnerClient } from "../../engines/runner/runner-client.ts";
import { listProcesses, type ProcessFacts } from "../../lib/process-table.ts";
import { GRACE_SECONDS } from "./program-executor.ts";

const PATIENCE_MS = (GRACE_SECONDS + 10) * 1000;
const RUNNER = /\/runner\.mjs (.+)$/;

/**
 * Ends the runners of a data directory with their programs, without a server; returns how many. They are found in the
 * process table: folders of commands are as many as ever ran. Call it after the other kinds of processes have ended.
 */
export async function endProgramsBelow(dataDir: string): Promise<number> {
  const spellings = [dataDir, await realpath(dataDir)].map((path) => join(path, "accounts/"));
  const folders = (await listProcesses()).map((each) => ({ each, told: RUNNER.exec(each.commandLine)?.[1] ?? "" }));
  const ours = folders.filter(({ told }) => spellings.some((path) => told.startsWith(path)));
  await Promise.all(ours.map(async ({ each, told }) => endRun(await currentFolder(each, told))));
  return ours.length;
}

/** A driver that waited has been moved since its runner was started. */
async function currentFolder({ pid }: ProcessFacts, told: string): Promise<string> {
  return readlink(`/proc/${pid}/cwd`).catch(() => told);
}

async function endRun(folder: string): Promise<void> {
  const client = openRunnerClient(folder);
  if (client.forsake()) return;
  await client.cancel();
  const view = await client.waitForEnd(AbortSignal.timeout(PATIENCE_MS));
  if (!isOver(view)) await client.kill();
}
