import { existsSync } from "node:fs";
import { isOver, openRunnerClient } from "../../processes/runner/runner-client.ts";
import { Fault } from "../../lib/fault.ts";
import type { CommandFiles } from "../execution/command-files.ts";

/** More than the time that a process has between SIGTERM and the kill. */
const PATIENCE_MS = 20_000;

/**
 * Waits until no process of an earlier attempt runs on this node. A run that the queue has lost may still be ending, and two
 * processes must never write the same journal.
 */
export async function waitForEarlierAttempts(
  files: CommandFiles,
  attempt: number,
  signal: AbortSignal,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const late = AbortSignal.timeout(patienceMs);
  for (let earlier = 1; earlier < attempt; earlier += 1) {
    const { folder } = files.attempt(earlier);
    if (!existsSync(folder)) continue;
    const runner = openRunnerClient(folder);
    if (runner.abandon()) continue;
    const view = await runner.waitForEnd(AbortSignal.any([signal, late]));
    signal.throwIfAborted();
    if (isOver(view)) continue;
    throw new Fault(
      "conflict",
      `the copy cannot continue: the process of attempt ${earlier} has not ended yet. Submit the command again later`,
    );
  }
}
