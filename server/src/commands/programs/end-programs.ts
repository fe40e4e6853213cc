import { existsSync } from "node:fs";
import { readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { isOver, openRunnerClient } from "../../processes/runner/runner-client.ts";
import { listProcesses, type ProcessFacts } from "../../lib/process-table.ts";
import { GRACE_SECONDS } from "../execution/runner-run.ts";

const PATIENCE_MS = (GRACE_SECONDS + 10) * 1000;
const RUNNER = /\/runner\.mjs (.+)$/;
/** Below `accounts`: the folders of runners. Programs cannot write to them. */
const RUN_FOLDER = /^\d+\/(commands\/\d+\/attempts\/\d+|standby\/[^/]+|(spark|metastore)\/[^/]+\/run)$/;

/**
 * Ends the runners of a data directory and their programs when no server runs; returns how many there were. It finds
 * them in the process table, because there is a folder for every command that ever ran. Call it after the other kinds
 * of processes have ended.
 *
 * A program can look like a runner in the process table. Only folders that belong to the server are acted on: the files in
 * any other folder could name a process that has nothing to do with Headgate.
 */
export async function endProgramsBelow(dataDir: string): Promise<number> {
  const roots = [dataDir, await realpath(dataDir)].map((path) => join(path, "accounts/"));
  const isRunFolder = (path: string): boolean =>
    roots.some((root) => path.startsWith(root) && RUN_FOLDER.test(path.slice(root.length)));
  const runners = (await listProcesses()).flatMap((facts) => {
    const given = RUNNER.exec(facts.commandLine)?.[1] ?? "";
    return isRunFolder(given) ? [currentFolder(facts, given)] : [];
  });
  const folders = new Set((await Promise.all(runners)).filter((folder) => isRunFolder(folder) && existsSync(folder)));
  await Promise.all([...folders].map(endRun));
  return folders.size;
}

/** The folder of a standby driver was moved when the driver got its program, after its runner was started. */
async function currentFolder({ pid }: ProcessFacts, given: string): Promise<string> {
  return readlink(`/proc/${pid}/cwd`).catch(() => given);
}

async function endRun(folder: string): Promise<void> {
  const client = openRunnerClient(folder);
  if (client.abandon()) return;
  await client.cancel();
  const view = await client.waitForEnd(AbortSignal.timeout(PATIENCE_MS));
  if (!isOver(view)) await client.kill();
}
