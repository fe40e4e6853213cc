import { setTimeout as delay } from "node:timers/promises";
import type { Driver } from "./driver.ts";
import { isFull } from "./free-room.ts";
import type { RunSpec, RunStatus } from "./protocol.ts";
import type { Greeting, ResultFiles } from "./result-files.ts";
import type { RosterEntry } from "./roster.ts";
import type { StatusFile } from "./status-file.ts";
import type { Exit, Supervision } from "./supervise-driver.ts";

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
  const onFailure = (message: string): void => supervision.end({ cause: "disk-full", message, graceMs: 0 });
  return results.collect(driver, onFailure, greeting);
}

/** Settles when nothing of the program is left, and all that it wrote is on the disk. */
export async function conclude(
  folder: string,
  { results }: Run,
  supervision: Supervision,
  collected: Promise<void>,
): Promise<{ exit: Exit; end: Pick<RunStatus, "cause" | "message"> }> {
  const exit = await supervision.finished;
  const wasFull = exit.exitCode !== 0 && isFull(folder);
  // Whoever holds a pipe now has left both the session and the program's family.
  await Promise.race([collected, delay(1000)]);
  const said = supervision.reason()?.message;
  if (supervision.reason()?.cause === "disk-full") results.dropOutput();
  results.close(said === undefined ? [] : [said]);
  const reason = supervision.reason() ?? exited(wasFull); // also of what could not be written just now
  return { exit, end: { cause: reason.cause, message: reason.message } };
}

/** A program that a full disk has failed mostly says so itself; whoever sees nothing but its exit code is told too. */
function exited(wasFull: boolean): Pick<RunStatus, "cause" | "message"> {
  return { cause: "exited", message: wasFull ? "the disk was full" : null };
}
