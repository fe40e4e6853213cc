/**
 * Installs the packages of Python programs in the background, after Spark and while no command runs, because it would
 * slow down the first ones. Nothing waits for it: programs run without the packages until they are there.
 *
 *   waiting ─▶ installing ─▶ ready
 *                 │  ▲
 *                 ▼  │ retried: after a minute, then after twice the time, up to an hour
 *               failed
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../lib/log.ts";
import { describeStep, printSparsely, type SetUpStep, type ShowProgress } from "../../processes/set-up/set-up-step.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { ProgramPython } from "./program-python.ts";
import { fetchPythonPackages, hasPythonPackages, PYTHON_PACKAGES, whyNoPackages } from "./python-packages.ts";
import type { SparkSetUp } from "./spark-set-up.ts";

export type PythonState =
  | { readonly state: "waiting" | "installing" | "failed"; readonly detail: string }
  /** `sinceMs`: when they were installed; undefined: before this server was started. */
  | { readonly state: "ready"; readonly detail: string; readonly sinceMs?: number | undefined }
  /** There are none for this machine. */
  | { readonly state: "absent"; readonly detail: string };

export interface PythonSetUp {
  current(): PythonState;
  /** Called once, when commands can run. `isBusy`: whether commands run on this node. */
  start(isBusy: () => boolean): void;
  stop(): Promise<void>;
}

export interface PythonSetUpOptions {
  readonly spark: Pick<SparkSetUp, "ready">;
  readonly log: Log;
  readonly showProgress?: ShowProgress | undefined;
  readonly fetch?: typeof fetchPythonPackages;
  readonly firstRetryMs?: number;
  readonly quietMs?: number;
}

const FIRST_RETRY_MS = 60_000;
const MAX_RETRY_MS = 3_600_000;
/** How long no command must have run. */
const QUIET_MS = 5_000;
const MAX_WAIT_MS = 300_000;
const POLL_MS = 500;

export function startPythonSetUp({
  spark,
  log,
  showProgress,
  fetch = fetchPythonPackages,
  firstRetryMs = FIRST_RETRY_MS,
  quietMs = QUIET_MS,
}: PythonSetUpOptions): PythonSetUp {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { promise: started, resolve: start } = Promise.withResolvers<() => boolean>();
  let state: PythonState = { state: "waiting", detail: `${PYTHON_PACKAGES} are installed after Spark` };
  const logStep = printSparsely((step) => log.info({ step }, "setting up Python"));
  const progress = (step: SetUpStep): void => {
    state = { state: "installing", detail: describeStep(step) };
    if (showProgress === undefined) logStep(step);
    else showProgress({ ...step, text: `Setting up Python: ${step.text}` });
  };
  const attempt = async (python: ProgramPython, retryMs: number): Promise<boolean> => {
    try {
      await fetch(python, { signal, progress, isInBackground: true });
      state = { state: "ready", detail: PYTHON_PACKAGES, sinceMs: Date.now() };
      log.info({ folder: python.environment?.folder }, "the Python packages are ready");
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      const reason = error instanceof Error && error.name === "Fault" ? error.message : "they cannot be installed";
      const detail = `${reason}; the next attempt is in ${Math.ceil(retryMs / 60_000)} min`;
      log.error({ err: error, retryMs }, "the Python packages cannot be installed");
      state = { state: "failed", detail };
      return false;
    } finally {
      showProgress?.(undefined);
    }
  };
  const run = async (): Promise<void> => {
    const { python } = await unlessAborted(signal, spark.ready);
    const reason = whyNoPackages(python);
    if (python === undefined || reason !== undefined) {
      state = { state: "absent", detail: reason ?? "" };
      return;
    }
    if (hasPythonPackages(python)) {
      state = { state: "ready", detail: PYTHON_PACKAGES };
      return;
    }
    const isBusy = await unlessAborted(signal, started);
    for (let retryMs = firstRetryMs; ; retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)) {
      await waitUntilQuiet(isBusy, quietMs, signal);
      if (await attempt(python, retryMs)) return;
      await sleep(retryMs, undefined, { signal });
    }
  };
  const done = run().catch((error: unknown) => {
    if (signal.aborted) return;
    state = { state: "failed", detail: "their set-up failed unexpectedly; the next start tries again" };
    log.error({ err: error }, "the set-up of the Python packages failed unexpectedly");
  });
  return {
    current: () => state,
    start,
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

/** On a node that is never quiet, it does not wait for ever. */
async function waitUntilQuiet(isBusy: () => boolean, quietMs: number, signal: AbortSignal): Promise<void> {
  const start = performance.now();
  let busyAt = start;
  for (let now = start; now - busyAt < quietMs && now - start < MAX_WAIT_MS; now = performance.now()) {
    await sleep(POLL_MS, undefined, { signal });
    if (isBusy()) busyAt = performance.now();
  }
}
