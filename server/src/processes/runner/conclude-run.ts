import { setTimeout as delay } from "node:timers/promises";
import type { Driver } from "./driver.ts";
import { isFilesystemFull } from "./disk-full.ts";
import type { RunSpec, RunStatus } from "./protocol.ts";
import type { Greeting, ResultFiles } from "./result-files.ts";
import type { RosterEntry } from "./roster.ts";
import type { StatusFile } from "./status-file.ts";
import type { Exit, Supervision } from "./supervise-driver.ts";
import type { EndReason } from "./watch-for-end.ts";
import type { ResourceWatch } from "./watch-resources.ts";

/** The parts of a runner while its program exists. */
export interface Run {
  readonly file: StatusFile;
  readonly spec: RunSpec;
  readonly results: ResultFiles;
  readonly driver: Driver;
  readonly roster: RosterEntry;
  readonly watch: ResourceWatch;
}

/** Begins to store the program's output. The program is ended if that fails. */
export function collect({ results, driver }: Run, supervision: Supervision, greeting?: Greeting): Promise<void> {
  return results.collect(driver, (reason) => supervision.end(reason), greeting);
}

/** Settles when no process of the program is left and its output is on the disk. */
export async function conclude(
  folder: string,
  run: Run,
  supervision: Supervision,
  collected: Promise<void>,
): Promise<{ exit: Exit; end: Pick<RunStatus, "cause" | "message"> }> {
  const { results, driver } = run;
  const exit = await supervision.finished;
  driver.dismissLifeline();
  const wasFull = exit.exitCode !== 0 && isFilesystemFull(folder);
  // A process that still holds a pipe has left both the session and the program's process tree.
  await Promise.race([collected, delay(1000)]);
  const refused = exit.exitCode === 0 ? undefined : kernelLimitReason(run, exit);
  driver.group?.remove();
  const early = supervision.reason() ?? refused;
  if (supervision.reason()?.dropsOutput === true) results.dropOutput();
  results.close(early === undefined ? [] : [early.message]);
  const reason = early ?? supervision.reason() ?? exited(wasFull); // the close may have failed too
  return { exit, end: { cause: reason.cause, message: reason.message } };
}

/** A fork failure above this fraction of the task limit is attributed to the limit. */
const NEAR_LIMIT = 0.9;

/**
 * The kernel may enforce a limit before the runner sees it reached. The program's error message alone does not show
 * which limit that was, because the machine has one too.
 */
function kernelLimitReason({ spec, results, driver, watch }: Run, exit: Exit): EndReason | undefined {
  const excess = driver.group?.excess();
  if (excess !== undefined) return { cause: "limit", message: excess, graceMs: 0 };
  const limit = results.sawForkFailure() ? (spec.resources?.tasks ?? null) : null;
  if (limit === null) return undefined;
  const end = exit.exitCode === null ? `ended by the signal ${exit.signal}` : `exit code ${exit.exitCode}`;
  const isReached = watch.peakTasks() >= limit * NEAR_LIMIT;
  const message = isReached
    ? `${end}, because it could not start another process: HEADGATE_RUN_PROCESSES allows ${limit}`
    : `${end}, after it could not start another process; HEADGATE_RUN_PROCESSES allows ${limit}`;
  return { cause: "limit", message, graceMs: 0 };
}

/** Programs mostly report a full disk themselves, but some readers see only the exit code. */
function exited(wasFull: boolean): Pick<RunStatus, "cause" | "message"> {
  return { cause: "exited", message: wasFull ? "the disk was full" : null };
}
