import type { ProcessHandle } from "../detached-process/detached-process.ts";
import { stopSession } from "../detached-process/stop-session.ts";
import type { Driver } from "./driver.ts";
import type { EndReason } from "./watch-for-end.ts";

export interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Supervision {
  /** The first reason is recorded; a later one may only shorten the grace. */
  end(reason: EndReason): void;
  reason(): EndReason | undefined;
  /** Settles when no process of the program's session is left. */
  readonly finished: Promise<Exit>;
}

const tickMs = 250;
/** A program may exhaust its limits within the first moments. */
const firstTicksMs = [30, 60, 120];
const ticksPerBeat = 4;

/** Calls `check` four times a second for a reason to end the program, and `beat` every second as a heartbeat. */
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
    // Processes that cannot be ended now are tried again when the program itself is gone.
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
    await endRemainingProcesses(handle, mark);
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

async function endRemainingProcesses(handle: ProcessHandle, mark: string): Promise<void> {
  for (;;) {
    try {
      await stopSession(handle, { graceMs: 0, mark });
      return;
    } catch {
      // A process is blocked in the kernel. The run has not ended while it exists.
    }
  }
}
