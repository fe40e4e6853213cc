import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessHandle } from "../../src/processes/detached-process/detached-process.ts";
import { markOf } from "../../src/processes/runner/mark.ts";
import { fileNames, parseStatus, type RunStatus } from "../../src/processes/runner/protocol.ts";
import { readOwner } from "../../src/processes/runner/claim-and-order.ts";
import {
  listProcesses,
  listProcessLinks,
  readBootId,
  type ProcessFacts,
  type ProcessLinks,
} from "../../src/lib/process-table.ts";

/**
 * A run that a runner has claimed, read from the files of the runner. The process table does not suffice: a sandbox
 * hides the command lines of drivers, and the runner of a former standby driver still names the old folder in its own.
 */
export interface RunOnDisk {
  readonly folder: string;
  /** Undefined: a driver that waits for a program. */
  readonly attempt: { readonly command: number; readonly number: number } | undefined;
  /** Undefined: its runner has written no status yet. */
  readonly state: RunStatus["state"] | undefined;
  readonly runner: ProcessHandle;
  readonly driver: ProcessHandle | null;
}

/** A run of which at least one process lives. */
export interface LiveRun extends RunOnDisk {
  readonly runnerLives: boolean;
  /** All processes of the driver, in the sandbox and around it. */
  readonly driverProcesses: readonly ProcessLinks[];
}

export function listRuns(dataDir: string): RunOnDisk[] {
  return accountFolders(dataDir).flatMap((account) => [
    ...list(join(account, "commands")).flatMap((command) =>
      list(join(account, "commands", command, "attempts")).flatMap((number) => {
        const folder = join(account, "commands", command, "attempts", number);
        return readRun(folder, { command: Number(command), number: Number(number) }) ?? [];
      }),
    ),
    ...list(join(account, "standby")).flatMap((name) => readRun(join(account, "standby", name), undefined) ?? []),
  ]);
}

export async function listLiveRuns(dataDir: string): Promise<LiveRun[]> {
  const runs = listRuns(dataDir);
  const bootId = await readBootId();
  const links = await listProcessLinks();
  const find = (handle: ProcessHandle | null): ProcessLinks | undefined =>
    handle?.bootId !== bootId
      ? undefined
      : links.find(({ pid, startTime }) => pid === handle.pid && startTime === handle.startTime);
  return runs.flatMap((run) => {
    const runner = find(run.runner);
    const driver = find(run.driver);
    if (runner === undefined && driver === undefined) return [];
    const driverProcesses = driver === undefined ? [] : withDescendants([driver], links);
    return [{ ...run, runnerLives: runner !== undefined, driverProcesses }];
  });
}

/**
 * Finds all processes that belong to the given folders: by folders in command lines and environments, by the mark that
 * all processes of a runner carry, and by the files of runners; also all descendants of these.
 */
export async function findAllBelow(
  folders: readonly string[],
  dataDirs: readonly string[],
): Promise<readonly ProcessFacts[]> {
  const runs = dataDirs.flatMap((dataDir) => listRuns(dataDir));
  const known = new Set(runs.flatMap(({ runner, driver }) => [runner, driver].flatMap((each) => each?.pid ?? [])));
  const started = new Set(
    runs.flatMap(({ runner, driver }) => [runner, driver].flatMap((each) => (each === null ? [] : [keyOf(each)]))),
  );
  const marks = new Set(runs.map(({ runner }) => markOf(runner)));
  const all = await listProcesses();
  const isNamed = ({ pid, commandLine }: ProcessFacts): boolean => {
    const words = [...commandLine.split(" "), ...environmentOf(pid).split("\0")];
    return words.some((word) => marks.has(word) || folders.some((folder) => word.includes(folder)));
  };
  const roots = all.filter((each) => (known.has(each.pid) && started.has(keyOf(each))) || isNamed(each));
  const links = await listProcessLinks();
  const rootPids = new Set(roots.map(({ pid }) => pid));
  const found = new Set(
    withDescendants(
      links.filter(({ pid }) => rootPids.has(pid)),
      links,
    ).map(({ pid }) => pid),
  );
  found.delete(process.pid);
  return all.filter(({ pid }) => found.has(pid));
}

export function withDescendants(roots: readonly ProcessLinks[], links: readonly ProcessLinks[]): ProcessLinks[] {
  const found = new Map(roots.map((each) => [each.pid, each]));
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const each of links) if (found.has(each.parentPid)) found.set(each.pid, each);
  }
  return [...found.values()];
}

export function kill(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended meanwhile.
  }
}

/** Distinguishes processes that had the same pid one after the other. */
export const keyOf = ({ pid, startTime }: { pid: number; startTime: string }): string => `${pid} ${startTime}`;

function accountFolders(dataDir: string): string[] {
  return list(join(dataDir, "accounts")).map((account) => join(dataDir, "accounts", account));
}

function readRun(folder: string, attempt: RunOnDisk["attempt"]): RunOnDisk | undefined {
  const runner = readOwner(folder);
  if (runner === undefined || runner === null) return undefined;
  const status = readStatus(folder);
  return { folder, attempt, state: status?.state, runner, driver: status?.driver ?? null };
}

function readStatus(folder: string): RunStatus | undefined {
  try {
    return parseStatus(readFileSync(join(folder, fileNames.status), "utf8"));
  } catch {
    return undefined; // not written yet, or just removed
  }
}

/** Empty where reading is not allowed, such as for processes of other users. */
function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return "";
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // there were no runs yet
  }
}
