import { setTimeout as delay } from "node:timers/promises";
import type { Driver } from "./driver.ts";
import { isFull } from "./free-room.ts";
import type { RunSpec, RunStatus } from "./protocol.ts";
import type { Greeting, ResultFiles } from "./result-files.ts";
import type { RosterEntry } from "./roster.ts";
import type { StatusFile } from "./status-file.ts";
import type { Exit, Supervision } from "./supervise-driver.ts";
import type { EndReason } from "./watch-for-end.ts";

/** What a runner holds while its program is there. */
export interface Run {
  readonly file: StatusFile;
  readonly spec: RunSpec;
  readonly results: ResultFiles;
  readonly driver: Driver;
  readonly roster: RosterEntry;
}

/** From now on what the program writes is kept; where that fails it is ended. */
export function collect({ results, driver }: Run, supervision: Supervision, greeting?: Greeting): Promise<void> {
  return results.collect(driver, (reason) => supervision.end(reason), greeting);
}

/** Settles when nothing of the program is left, and all that it wrote is on the disk. */
export async function conclude(
  folder: string,
  { results, spec, driver: { group } }: Run,
  supervision: Supervision,
  collected: Promise<void>,
): Promise<{ exit: Exit; end: Pick<RunStatus, "cause" | "message"> }> {
  const exit = await supervision.finished;
  const wasFull = exit.exitCode !== 0 && isFull(folder);
  // Whoever holds a pipe now has left both the session and the program's family.
  await Promise.race([collected, delay(1000)]);
  const refused = exit.exitCode === 0 ? undefined : refusedBy(spec, exit, results, group?.excess());
  group?.remove();
  const early = supervision.reason() ?? refused;
  const said = early?.message;
  if (supervision.reason()?.dropsOutput === true) results.dropOutput();
  results.close(said === undefined ? [] : [said]);
  const reason = early ?? supervision.reason() ?? exited(wasFull); // also of what could not be written just now
  return { exit, end: { cause: reason.cause, message: reason.message } };
}

/** The kernel's own limits may end a program before the runner has seen it there. */
function refusedBy(
  { resources }: RunSpec,
  { exitCode }: Exit,
  results: ResultFiles,
  excess: string | undefined,
): EndReason | undefined {
  const tasks = results.wasRefusedProcesses() ? (resources?.tasks ?? null) : null;
  if (excess === undefined && tasks === null) return undefined;
  const message =
    excess ??
    `exit code ${exitCode}, because it could not start another process: HEADGATE_RUN_PROCESSES allows ${tasks}`;
  return { cause: "limit", message, graceMs: 0 };
}

/** A program that a full disk has failed mostly says so itself; whoever sees nothing but its exit code is told too. */
function exited(wasFull: boolean): Pick<RunStatus, "cause" | "message"> {
  return { cause: "exited", message: wasFull ? "the disk was full" : null };
}
