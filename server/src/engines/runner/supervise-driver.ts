import type { ProcessHandle } from "../detached-process/process-handle.ts";
import { stopSession } from "../detached-process/stop-session.ts";
import type { Driver } from "./driver.ts";
import type { EndReason } from "./watch-for-end.ts";

export interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Supervision {
  /** The first reason is the one that counts; a later one may still hasten the end. */
  end(reason: EndReason): void;
  reason(): EndReason | undefined;
  /** Settles when no process of the program's session is left. */
  readonly finished: Promise<Exit>;
}

const tickMs = 250;
/** A program that takes all it can get does so from its first moment on. */
const firstTicksMs = [30, 60, 120];
const ticksPerBeat = 4;

/** `check` is asked four times a second why the program has to end; `beat` tells every second that we live. */
export function superviseDriver(
  { child, handle }: Driver,
  mark: string,
  check: () => EndReason | undefined,
  beat: () => void,
): Supervision {
  let reason: EndReason | undefined;
  let killing = false;
  const end = (wanted: EndReason): void => {
    const first = reason === undefined;
    reason ??= wanted;
    if (killing || !(first || wanted.graceMs === 0)) return;
    killing = wanted.graceMs === 0;
    // What cannot be ended yet is tried again when the program itself is gone.
    stopSession(handle, { graceMs: wanted.graceMs, mark }).catch(() => undefined);
  };
  let ticks = 0;
  const tick = (): void => {
    const found = (ticks++ % ticksPerBeat === 0 ? tryToBeat(beat) : undefined) ?? check();
    if (found !== undefined) end(found);
  };
  const timer = setInterval(tick, tickMs);
  const early = firstTicksMs.map((afterMs) => setTimeout(tick, afterMs));
  const stopped = { cause: "stopped", message: "ended by a signal to the runner", graceMs: 5000 } as const;
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => end(stopped));
  const exited = new Promise<Exit>((settle) => {
    child.once("exit", (exitCode, signal) => settle({ exitCode, signal }));
  });
  const finish = async (): Promise<Exit> => {
    const exit = await exited;
    await endWhatIsLeft(handle, mark);
    clearInterval(timer);
    for (const each of early) clearTimeout(each);
    return exit;
  };
  return { end, reason: () => reason, finished: finish() };
}

function tryToBeat(beat: () => void): EndReason | undefined {
  try {
    beat();
    return undefined;
  } catch {
    return { cause: "stopped", message: "the run's folder was removed", graceMs: 0 };
  }
}

async function endWhatIsLeft(handle: ProcessHandle, mark: string): Promise<void> {
  for (;;) {
    try {
      await stopSession(handle, { graceMs: 0, mark });
      return;
    } catch {
      // Blocked in the kernel: as long as it is there, the run has not ended.
    }
  }
}
