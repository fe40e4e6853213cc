import { setTimeout as sleep } from "node:timers/promises";
import { DAY_MS } from "../../lib/clock.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import type { SetUpStep } from "../set-up/set-up-step.ts";
import { markUsed, type PlacedProgram } from "./place-program.ts";

/** Places a program in the background, and again if it was removed. A failure is retried after a minute. */
export interface ProgramSetUp {
  /** Undefined: it cannot be run yet, and `unready` says why. */
  placed(): PlacedProgram | undefined;
  /** Why the program cannot be run yet, for users; null: it can be run. */
  unready(): string | null;
  stop(): Promise<void>;
}

export interface ProgramSetUpOptions {
  /** The name in messages to users. */
  readonly title: string;
  readonly place: (signal: AbortSignal, progress: (step: SetUpStep) => void) => Promise<PlacedProgram>;
  readonly log: Log;
  readonly retryMs?: number;
  readonly markMs?: number;
}

const RETRY_MS = 60_000;
const MARK_MS = DAY_MS;

export function startProgramSetUp(options: ProgramSetUpOptions): ProgramSetUp {
  const { title, place, log, retryMs = RETRY_MS, markMs = MARK_MS } = options;
  const stopping = new AbortController();
  let program: PlacedProgram | undefined;
  let reason = `${title} is being set up`;
  const progress = ({ text }: SetUpStep): void => {
    reason = `${title} is being set up: ${text}`;
    log.info({ step: text }, `setting up ${title}`);
  };
  const attempt = async (): Promise<void> => {
    try {
      program = await place(stopping.signal, progress);
    } catch (error) {
      if (stopping.signal.aborted) return;
      const why = error instanceof Fault ? error.publicMessage : "the log of the server says why";
      reason = `${title} cannot be set up: ${why}`;
      log.error({ err: error }, `${title} cannot be set up`);
    }
  };
  const pause = (ms: number): Promise<void> =>
    sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
  const done = (async () => {
    for (;;) {
      await attempt();
      const wasPlaced = program !== undefined;
      while (program !== undefined && !stopping.signal.aborted) {
        await pause(markMs);
        if (!(await markUsed(program))) program = undefined;
      }
      if (!wasPlaced) await pause(retryMs);
      if (stopping.signal.aborted) return;
    }
  })();
  return {
    placed: () => program,
    unready: () => (program === undefined ? reason : null),
    async stop() {
      stopping.abort();
      await done;
    },
  };
}
