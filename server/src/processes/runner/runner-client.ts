import { watch, type FSWatcher } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { writePrivateFileAsync } from "../../lib/private-file.ts";
import { findProcess, type ProcessHandle } from "../detached-process/detached-process.ts";
import { startFromSpawner } from "../detached-process/spawner.ts";
import { stopSession } from "../detached-process/stop-session.ts";
import { markOf } from "./mark.ts";
import { writeOrder, isStandby, readOrder, claimFolder, readOwner } from "./claim-and-order.ts";
import { fileNames, parseStatus, render, type Order, type RunSpec, type RunStatus, type Standby } from "./protocol.ts";

export type RunView =
  /** No runner has claimed the folder, but one may be about to: call `abandon` before giving up. */
  | { readonly state: "absent" }
  /** No runner will ever run the folder. */
  | { readonly state: "abandoned" }
  | { readonly state: "starting"; readonly runner: ProcessHandle }
  /** A standby without an order. `isReady`: it could start working on an order at once. */
  | { readonly state: "waiting"; readonly runner: ProcessHandle; readonly isReady: boolean }
  | {
      readonly state: "running";
      readonly runner: ProcessHandle;
      readonly status: RunStatus;
      /** Renewed every second by a live runner. Compare it with an earlier value, not with a clock. */
      readonly heartbeatMs: number;
    }
  | { readonly state: "ended"; readonly status: RunStatus }
  /** The runner is gone and left no result. No process of the program is left either. */
  | { readonly state: "lost"; readonly mayHaveRun: boolean; readonly status: RunStatus | undefined };

/** A sandbox returns this form too. */
export interface ProgramToRun {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly identity: { readonly uid: number; readonly gid: number } | undefined;
  readonly descriptor3: string | undefined;
}

export type RunLimits = Omit<RunSpec, "argv" | "cwd" | "environmentFile" | "descriptor3File" | "identity" | "standby">;

/** The server's side of one run. It is stateless: another client, even in another process, may continue at any time. */
export interface RunnerClient {
  /** Call this once per folder. Returns the handle of the runner. */
  start(program: ProgramToRun, limits: RunLimits, standby?: Standby): Promise<ProcessHandle>;
  /** Starts a standby's work, unless it was abandoned. */
  order(order: Order): void;
  observe(): Promise<RunView>;
  /** Settles when the run is over for any reason, or the signal is aborted. */
  waitForEnd(signal?: AbortSignal): Promise<RunView>;
  /** Like `waitForEnd`, but also settles when the run leaves this state. */
  waitForChange(from: RunView["state"] | undefined, signal: AbortSignal): Promise<RunView>;
  /** Requests the end of the program; the result shows in the status. */
  cancel(): Promise<void>;
  /** True: the program has not begun and never will. */
  abandon(): boolean;
  /** For a run that was abandoned or has ended: true when its runner is gone too, or there was none. */
  waitUntilGone(signal: AbortSignal): Promise<boolean>;
  /** Kills runner and program at once, for a runner that does not respond. The result is lost. */
  kill(): Promise<void>;
}

const runnerProgram = fileURLToPath(new URL("runner.mjs", import.meta.url));
/** A runner does little work: it needs fewer threads, and a young heap that does not grow with the program's output. */
const nodeOptions = ["--max-semi-space-size=1", "--v8-pool-size=1"];

export function openRunnerClient(folder: string): RunnerClient {
  const path = (name: keyof typeof fileNames): string => join(folder, fileNames[name]);
  const observe = async (): Promise<RunView> => observeFolder(folder);
  return {
    observe,
    async start({ argv, cwd, env, identity, descriptor3 }, limits, standby) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const environmentFile = path("environment");
      await writeFile(environmentFile, JSON.stringify({ version: 1, variables: env }), { mode: 0o600 });
      const descriptor3File = descriptor3 === undefined ? null : path("descriptor3");
      if (descriptor3File !== null) await writeFile(descriptor3File, descriptor3 ?? "", { mode: 0o600 });
      const program = { argv, cwd, identity: identity ?? null, environmentFile, descriptor3File };
      await writePrivateFileAsync(path("spec"), render({ ...limits, ...program, standby: standby ?? null }));
      return startFromSpawner({
        argv: [process.execPath, ...nodeOptions, runnerProgram, folder],
        env: { PATH: "/usr/bin:/bin" },
        cwd: "/",
        stderrFile: path("runnerErrors"),
        sessionNice: limits.resources?.nice ?? 0, // until the program begins
      });
    },
    order(order) {
      writeOrder(folder, order);
    },
    waitForEnd: async (signal) => waitFor(isOver, folder, observe, signal),
    waitForChange: async (from, signal) =>
      waitFor((view) => view.state !== from || isOver(view), folder, observe, signal),
    async cancel() {
      await writeFile(path("cancel"), "");
    },
    abandon: () =>
      claimFolder(folder, null) || readOwner(folder) === null || (isStandby(folder) && withholdOrder(folder)),
    async waitUntilGone(signal) {
      const runner = readOwner(folder);
      while (runner !== null && runner !== undefined && (await findProcess(runner)) === "running") {
        if (signal.aborted) return false;
        await delay(goneEveryMs);
      }
      return true;
    },
    async kill() {
      const runner = readOwner(folder);
      if (runner === null || runner === undefined) return;
      await stopSession(runner, { graceMs: 0, mark: markOf(runner) });
    },
  };
}

/** True: the standby has no order and will never get one. */
function withholdOrder(folder: string): boolean {
  return writeOrder(folder, null) || readOrder(folder) === null;
}

async function observeFolder(folder: string): Promise<RunView> {
  const runner = readOwner(folder);
  if (runner === undefined) return { state: "absent" };
  if (runner === null) return { state: "abandoned" };
  const seen = await readStatus(folder);
  if (seen?.status.state === "ended") return { state: "ended", status: seen.status };
  if ((await findProcess(runner)) === "running") {
    if (seen?.status.state === "running") return { state: "running", runner, ...seen };
    return beforeItRuns(folder, runner, seen?.status);
  }
  // The runner may have written its final status between the two reads.
  const last = await readStatus(folder);
  if (last?.status.state === "ended") return { state: "ended", status: last.status };
  const status = last?.status;
  if (status !== undefined && status.driver !== null) {
    await stopSession(status.driver, { graceMs: 0, mark: markOf(runner) });
  }
  return { state: "lost", mayHaveRun: status?.state === "running", status };
}

function beforeItRuns(folder: string, runner: ProcessHandle, status: RunStatus | undefined): RunView {
  if (!isStandby(folder)) return { state: "starting", runner };
  const order = readOrder(folder);
  if (order === null) return { state: "abandoned" };
  return order === undefined
    ? { state: "waiting", runner, isReady: status?.state === "waiting" }
    : { state: "starting", runner };
}

async function readStatus(folder: string): Promise<{ status: RunStatus; heartbeatMs: number } | undefined> {
  const path = join(folder, fileNames.status);
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    return { status: parseStatus(text), heartbeatMs: mtimeMs };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

const pollEveryMs = 1000;
const goneEveryMs = 20;

/** A change in the folder is noticed at once, the death of a runner at the next poll. */
async function waitFor(
  isReached: (view: RunView) => boolean,
  folder: string,
  observe: () => Promise<RunView>,
  signal: AbortSignal | undefined,
): Promise<RunView> {
  let wake: () => void = () => undefined;
  let watcher: FSWatcher | undefined;
  try {
    const onChange = (_event: string, name: string | null): void => {
      if (name === null || name === fileNames.status) wake();
    };
    watcher = watch(folder, onChange).on("error", () => undefined);
  } catch {
    // No inotify watches left: polling is slower but sufficient.
  }
  const onAbort = (): void => wake();
  signal?.addEventListener("abort", onAbort);
  try {
    for (;;) {
      const changed = new Promise<void>((settle) => {
        wake = settle;
      });
      const view = await observe();
      if (isReached(view) || signal?.aborted === true) return view;
      const timer = setTimeout(wake, pollEveryMs);
      await changed;
      clearTimeout(timer);
    }
  } finally {
    watcher?.close();
    signal?.removeEventListener("abort", onAbort);
  }
}

export function isOver({ state }: RunView): boolean {
  return state === "ended" || state === "lost" || state === "abandoned";
}
