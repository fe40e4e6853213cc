/**
 * Watches the memory of a run. The sum over all processes counts a shared page several times, so it is an upper bound;
 * so is the hidden memory of the machine, which may belong to any run. The exact shares are read only if both together
 * exceed the limit, because that takes long; it may be spread over several checks. The growth of hidden memory can be
 * missed while other runs release theirs, so that of the run is also measured from time to time.
 */
import { readFileSync, statSync } from "node:fs";
import { sizeText } from "../../lib/size-text.ts";
import { memoryLimitMessage } from "./control-group.ts";
import { measureHiddenMemory, readMachineMemory, type LastLook } from "./hidden-memory.ts";
import { Measurement } from "./measurement.ts";
import { monotonicMs } from "./monotonic.ts";
import { parseRollup, type RunProcess, type RunProcesses } from "./run-processes.ts";

const EXACT_EVERY_MS = 1000;
const REGULARLY_EVERY_MS = 10_000;
/** Memory runs out sooner than a disk, so this may take a larger part of a check interval (250 ms). */
const MEMORY_STEP_MS = 100;

export function watchMemory(
  limit: number | null,
  processes: RunProcesses,
): (found: readonly RunProcess[]) => string | undefined {
  const exact = new Measurement(MEMORY_STEP_MS);
  let fineAt = monotonicMs() - EXACT_EVERY_MS;
  let minHidden = Infinity;
  const last: LastLook = { hadUnreceived: false };
  return (found) => {
    if (limit === null) return undefined;
    if (!exact.isUnderWay) {
      const files = processes.sharedMemoryBytes();
      const { hiddenBytes } = readMachineMemory();
      minHidden = Math.min(minHidden, hiddenBytes);
      const seen = found.reduce((sum, { memoryBytes }) => sum + memoryBytes, files);
      const everyMs = seen + hiddenBytes - minHidden > limit ? EXACT_EVERY_MS : REGULARLY_EVERY_MS;
      if (monotonicMs() - fineAt < everyMs) return undefined;
      exact.begin(measureMemory(found, files, limit, last));
    }
    const used = exact.advance()?.result;
    if (used === undefined) return undefined;
    if (used > limit) return memoryLimitMessage(`it has ${sizeText(used)}`, limit);
    fineAt = monotonicMs();
    return undefined;
  };
}

/** Ends early with an upper bound that is within the limit. */
function* measureMemory(
  found: readonly RunProcess[],
  fileBytes: number,
  limit: number,
  last: LastLook,
): Generator<undefined, number> {
  const hidden = yield* measureHiddenMemory(found, limit, last);
  const files = fileBytes + hidden.sharedBytes;
  const most = found.reduce((sum, { memoryBytes }) => sum + memoryBytes, hidden.kernelBytes + files);
  return most <= limit ? most : hidden.kernelBytes + (yield* exactMemory(found, files));
}

function* exactMemory(found: readonly RunProcess[], fileBytes: number): Generator<undefined, number> {
  let own = 0;
  let shared = 0;
  for (const { folder, memoryBytes, pageTableBytes } of found) {
    yield;
    try {
      const { privateBytes, sharedMemoryBytes } = parseRollup(readFileSync(`${folder}/smaps_rollup`, "latin1"));
      own += privateBytes + pageTableBytes;
      shared += sharedMemoryBytes;
    } catch {
      own += isThere(folder) ? memoryBytes : 0;
    }
  }
  return own + Math.max(shared, fileBytes); // a file in /dev/shm may be mapped too
}

function isThere(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false }) !== undefined;
}
