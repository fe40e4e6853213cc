import { watch, type FSWatcher } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { writePrivateFileAsync } from "../../lib/private-file-async.ts";
import { findProcess, type ProcessHandle } from "../detached-process/process-handle.ts";
import { startFromSpawner } from "../detached-process/spawner.ts";
import { stopSession } from "../detached-process/stop-session.ts";
import { markOf } from "./mark.ts";
import { giveOrder, isStandby, readOrder } from "./order.ts";
import { fileNames, parseStatus, render, type Order, type RunSpec, type RunStatus, type Standby } from "./protocol.ts";
import { readTaker, take } from "./taken.ts";

export type RunView =
  /** No runner has taken the folder. One may be about to: who gives up calls `forsake` first. */
  | { readonly state: "absent" }
  /** No runner ever will. */
  | { readonly state: "forsaken" }
  | { readonly state: "starting"; readonly runner: ProcessHandle }
  /** A standby without an order. `isReady`: it would be followed at once. */
  | { readonly state: "waiting"; readonly runner: ProcessHandle; readonly isReady: boolean }
  | {
      readonly state: "running";
      readonly runner: ProcessHandle;
      readonly status: RunStatus;
      /** Renewed every second by a runner that works; compare two of them, not with a clock. */
      readonly heartbeatMs: number;
    }
  | { readonly state: "ended"; readonly status: RunStatus }
  /** The runner is gone and left no result. Nothing of the program is left either. */
  | { readonly state: "lost"; readonly mayHaveRun: boolean; readonly status: RunStatus | undefined };

/** What a sandbox makes of a program fits in here. */
export interface ProgramToRun {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly identity: { readonly uid: number; readonly gid: number } | undefined;
  readonly descriptor3: string | undefined;
}

export type RunLimits = Omit<RunSpec, "argv" | "cwd" | "environmentFile" | "descriptor3File" | "identity" | "standby">;

/** The server's side of one run. Holds nothing: another client, also in another process, may go on at any time. */
export interface RunnerClient {
  /** Once per folder. The handle is the runner's. */
  start(program: ProgramToRun, limits: RunLimits, standby?: Standby): Promise<ProcessHandle>;
  /** For a standby: lets it begin, unless it was forsaken. */
  order(order: Order): void;
  observe(): Promise<RunView>;
  /** Settles when the run is over in any way, or the signal is aborted. */
  waitForEnd(signal?: AbortSignal): Promise<RunView>;
  /** As `waitForEnd`, and also when the run is no longer in this state. */
  waitForChange(from: RunView["state"] | undefined, signal: AbortSignal): Promise<RunView>;
  /** Asks the runner to end the program; it answers by its status. */
  cancel(): Promise<void>;
  /** True: nothing has begun and nothing ever will. */
  forsake(): boolean;
  /** Of what was forsaken or has ended: true when its runner has gone too, or there was none. */
  untilGone(signal: AbortSignal): Promise<boolean>;
  /** Ends runner and program at once, for a runner that does not answer. Its result is lost. */
  kill(): Promise<void>;
}

const runnerProgram = fileURLToPath(new URL("runner.mjs", import.meta.url));
/** A runner has little to do: three threads less, and a young heap that does not grow with what a program writes. */
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
        sessionNice: limits.resources?.nice ?? 0, // until its program begins
      });
    },
    order(order) {
      giveOrder(folder, order);
    },
    waitForEnd: async (signal) => waitFor(isOver, folder, observe, signal),
    waitForChange: async (from, signal) =>
      waitFor((view) => view.state !== from || isOver(view), folder, observe, signal),
    async cancel() {
      await writeFile(path("cancel"), "");
    },
    forsake: () => take(folder, null) || readTaker(folder) === null || (isStandby(folder) && withhold(folder)),
    async untilGone(signal) {
      const runner = readTaker(folder);
      while (runner !== null && runner !== undefined && (await findProcess(runner)) === "running") {
        if (signal.aborted) return false;
        await delay(goneEveryMs);
      }
      return true;
    },
    async kill() {
      const runner = readTaker(folder);
      if (runner === null || runner === undefined) return;
      await stopSession(runner, { graceMs: 0, mark: markOf(runner) });
    },
  };
}

/** True: its standby has no order and will get none. */
function withhold(folder: string): boolean {
  return giveOrder(folder, null) || readOrder(folder) === null;
}

async function observeFolder(folder: string): Promise<RunView> {
  const runner = readTaker(folder);
  if (runner === undefined) return { state: "absent" };
  if (runner === null) return { state: "forsaken" };
  const seen = await readStatus(folder);
  if (seen?.status.state === "ended") return { state: "ended", status: seen.status };
  if ((await findProcess(runner)) === "running") {
    if (seen?.status.state === "running") return { state: "running", runner, ...seen };
    return beforeItRuns(folder, runner, seen?.status);
  }
  // Its last word may have come between the two looks.
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
  if (order === null) return { state: "forsaken" };
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

const lookEveryMs = 1000;
const goneEveryMs = 20;

/** A change in the folder is noticed at once, the death of a runner at the next look. */
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
    // No watches left: looking is slower but enough.
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
      const timer = setTimeout(wake, lookEveryMs);
      await changed;
      clearTimeout(timer);
    }
  } finally {
    watcher?.close();
    signal?.removeEventListener("abort", onAbort);
  }
}

export function isOver({ state }: RunView): boolean {
  return state === "ended" || state === "lost" || state === "forsaken";
}
