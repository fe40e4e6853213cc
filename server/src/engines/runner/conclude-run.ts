import { setTimeout as delay } from "node:timers/promises";
import type { Driver } from "./driver.ts";
import { isFull } from "./free-room.ts";
import type { RunSpec, RunStatus } from "./protocol.ts";
import type { Greeting, ResultFiles } from "./result-files.ts";
import type { RosterEntry } from "./roster.ts";
import type { StatusFile } from "./status-file.ts";
import type { Exit, Supervision } from "./supervise-driver.ts";
import type { EndReason } from "./watch-for-end.ts";
import type { ResourceWatch } from "./watch-resources.ts";

/** What a runner holds while its program is there. */
export interface Run {
  readonly file: StatusFile;
  readonly spec: RunSpec;
  readonly results: ResultFiles;
  readonly driver: Driver;
  readonly roster: RosterEntry;
  readonly watch: ResourceWatch;
}

/** From now on what the program writes is kept; where that fails it is ended. */
export function collect({ results, driver }: Run, supervision: Supervision, greeting?: Greeting): Promise<void> {
  return results.collect(driver, (reason) => supervision.end(reason), greeting);
}

/** Settles when nothing of the program is left, and all that it wrote is on the disk. */
export async function conclude(
  folder: string,
  run: Run,
  supervision: Supervision,
  collected: Promise<void>,
): Promise<{ exit: Exit; end: Pick<RunStatus, "cause" | "message"> }> {
  const { results, driver } = run;
  const exit = await supervision.finished;
  driver.over();
  const wasFull = exit.exitCode !== 0 && isFull(folder);
  // Whoever holds a pipe now has left both the session and the program's family.
  await Promise.race([collected, delay(1000)]);
  const refused = exit.exitCode === 0 ? undefined : refusedBy(run, exit);
  driver.group?.remove();
  const early = supervision.reason() ?? refused;
  const said = early?.message;
  if (supervision.reason()?.dropsOutput === true) results.dropOutput();
  results.close(said === undefined ? [] : [said]);
  const reason = early ?? supervision.reason() ?? exited(wasFull); // also of what could not be written just now
  return { exit, end: { cause: reason.cause, message: reason.message } };
}

/** A program that has had this part of its tasks was refused because of the limit. */
const NEAR_LIMIT = 0.9;

/**
 * The kernel's own limits may end a program before the runner has seen it there. Then its words alone do not tell whose
 * limit it was: the machine has one too.
 */
function refusedBy({ spec, results, driver, watch }: Run, exit: Exit): EndReason | undefined {
  const excess = driver.group?.excess();
  if (excess !== undefined) return { cause: "limit", message: excess, graceMs: 0 };
  const limit = results.wasRefusedProcesses() ? (spec.resources?.tasks ?? null) : null;
  if (limit === null) return undefined;
  const end = exit.exitCode === null ? `ended by the signal ${exit.signal}` : `exit code ${exit.exitCode}`;
  const isReached = watch.peakTasks() >= limit * NEAR_LIMIT;
  const message = isReached
    ? `${end}, because it could not start another process: HEADGATE_RUN_PROCESSES allows ${limit}`
    : `${end}, after it could not start another process; HEADGATE_RUN_PROCESSES allows ${limit}`;
  return { cause: "limit", message, graceMs: 0 };
}

/** A program that a full disk has failed mostly says so itself; whoever sees nothing but its exit code is told too. */
function exited(wasFull: boolean): Pick<RunStatus, "cause" | "message"> {
  return { cause: "exited", message: wasFull ? "the disk was full" : null };
}
