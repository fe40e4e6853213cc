import type { RunnableKind } from "../execution/executor.ts";
import type { RunnableCommand } from "../store/command-row.ts";

/**
 * The lane in which a command waits on its cluster. A reason that keeps the first command of a lane waiting, such as an
 * engine that is not ready, applies to the whole lane and to no other. Commands of an app that share a process have a lane
 * of their own.
 */
export function laneOf(
  { name, memory }: Pick<RunnableKind, "name" | "memory">,
  { appId }: Pick<RunnableCommand, "appId">,
): string {
  return memory.sharedBy === undefined || appId === null ? name : `${name} of app ${appId}`;
}
