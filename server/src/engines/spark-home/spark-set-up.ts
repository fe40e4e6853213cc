/**
 * Runs the set-up of Spark in the background while the API serves requests. Commands wait for it.
 *
 *   installing ─▶ ready
 *       │  ▲
 *       ▼  │ retried after a minute: Java may have been installed, the network may be back
 *     failed
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../lib/log.ts";
import { describeStep, printSparsely, type SetUpStep, type ShowProgress } from "../../processes/set-up/set-up-step.ts";
import type { SparkHome } from "./spark-home.ts";

export type SparkState =
  | { readonly state: "installing"; readonly detail: string }
  | { readonly state: "ready"; readonly detail: string; readonly home: SparkHome }
  | { readonly state: "failed"; readonly detail: string };

export interface SparkSetUp {
  current(): SparkState;
  /** Settles when Spark is ready. It never fails, and stays pending after a stop. */
  readonly ready: Promise<SparkHome>;
  stop(): Promise<void>;
}

export type SetUpSpark = (signal: AbortSignal, progress: (step: SetUpStep) => void) => Promise<SparkHome>;

export interface SparkSetUpOptions {
  readonly log: Log;
  /** Shows the steps; undefined: they are logged in a few lines. */
  readonly showProgress?: ShowProgress | undefined;
  readonly retryMs?: number;
}

const tryAgainAfterMs = 60_000;

export function startSparkSetUp(
  setUp: SetUpSpark,
  { log, showProgress, retryMs = tryAgainAfterMs }: SparkSetUpOptions,
): SparkSetUp {
  const stopping = new AbortController();
  const { promise: ready, resolve } = Promise.withResolvers<SparkHome>();
  let state: SparkState = { state: "installing", detail: "Looking for Spark" };
  const logStep = printSparsely((step) => log.info({ step }, "setting up Spark"));
  const progress = (step: SetUpStep): void => {
    state = { state: "installing", detail: describeStep(step) };
    if (showProgress !== undefined) showProgress({ ...step, text: `Setting up Spark: ${step.text}` });
    else logStep(step);
  };
  const attempt = async (): Promise<boolean> => {
    try {
      const home = await setUp(stopping.signal, progress);
      showProgress?.(undefined);
      state = { state: "ready", detail: `Spark ${home.version}`, home };
      log.info({ version: home.version, folder: home.folder }, "Spark is ready");
      resolve(home);
      return true;
    } catch (error) {
      showProgress?.(undefined);
      if (stopping.signal.aborted) return true;
      const detail = error instanceof Error && error.name === "Fault" ? error.message : "Spark cannot be set up";
      if (state.state !== "failed" || state.detail !== detail) log.error({ err: error }, "Spark cannot be set up");
      state = { state: "failed", detail };
      return false;
    }
  };
  const done = (async () => {
    while (!(await attempt())) {
      await sleep(retryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
    }
  })();
  return {
    current: () => state,
    ready,
    async stop() {
      stopping.abort();
      await done;
    },
  };
}
