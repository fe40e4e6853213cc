import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fetchWheel, wheelFolder, type PinnedWheel } from "../../src/processes/set-up/pip-install.ts";
import { mustRun } from "../../src/processes/set-up/run-tool.ts";
import { testCacheDir } from "../support/cache-dir.ts";

/** The wall clock of a server process, which can be set while the process runs. */
export interface NodeClock {
  /** The environment that gives a process this clock. The processes that it starts have an environment of their own. */
  readonly settings: Readonly<Record<string, string>>;
  /** Takes effect within `SETTLED_SECONDS`. */
  set(aheadSeconds: number): void;
}

export const NODE_STEP_SECONDS = 15 * 60;
export const SETTLED_SECONDS = 2;
/** Far less than a step, and more than a Node on a busy machine needs to start. */
const TOLERANCE_MS = 60_000;
const ANSWER_MS = 5000;

/** The wheel contains a library for Linux x64. */
const wheel: PinnedWheel = {
  name: "libfaketime",
  version: "3.0.1",
  title: "libfaketime 3.0.1",
  bytes: 93_000,
  sha256: ["5eed7c17f3d4ba0f6f828de4975f69a622b06b1e792674e6c1b069c0689fab79"],
  timeoutMs: 60_000,
};

/** Keeps its file in the folder. Returns the reason instead when this machine cannot have such a clock. */
export async function makeNodeClock(folder: string): Promise<NodeClock | string> {
  const cacheDir = testCacheDir();
  const file = join(folder, "clock");
  const clock: NodeClock = {
    settings: {
      LD_PRELOAD: join(wheelFolder(cacheDir, wheel), "libfaketime/vendor/libfaketime/src/libfaketime.so.1"),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      // Without a cache, threads that read the file at the same time disturb each other.
      FAKETIME_CACHE_DURATION: String(SETTLED_SECONDS - 1),
      NO_FAKE_STAT: "1",
    },
    set(aheadSeconds) {
      // Moved into its place, because a process must never read half of it.
      writeFileSync(`${file}.new`, `${aheadSeconds < 0 ? "-" : "+"}${Math.abs(aheadSeconds)}\n`);
      renameSync(`${file}.new`, file);
    },
  };
  try {
    await fetchWheel(wheel, { cacheDir, signal: new AbortController().signal, progress: () => undefined });
    await assertWorks(clock);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  clock.set(0);
  return clock;
}

/** How far the clock of a node is ahead, as its answers show it. Undefined: the node does not answer. */
export async function shownAheadSeconds(url: string | undefined): Promise<number | undefined> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const answer = await fetch(`${url}/healthz`, { signal }).catch(() => undefined);
  const shown = answer?.headers.get("date");
  return shown === null || shown === undefined ? undefined : (Date.parse(shown) - Date.now()) / 1000;
}

/** The wall clock of a Node that starts now must be ahead, and its monotonic clock must be the machine's. */
async function assertWorks(clock: NodeClock): Promise<void> {
  clock.set(NODE_STEP_SECONDS);
  const argv = [process.execPath, "--print", "`${Date.now()} ${Number(process.hrtime.bigint()) / 1e6}`"];
  const { stdout } = await mustRun("Node with libfaketime", argv, { env: clock.settings });
  const [wallMs = 0, monotonicMs = 0] = stdout.split(" ").map(Number);
  const wallErrorMs = wallMs - NODE_STEP_SECONDS * 1000 - Date.now();
  const monotonicErrorMs = monotonicMs - Number(process.hrtime.bigint()) / 1e6;
  for (const errorMs of [wallErrorMs, monotonicErrorMs])
    if (!(Math.abs(errorMs) < TOLERANCE_MS)) throw new Error("libfaketime has no effect on Node, or too much");
}
