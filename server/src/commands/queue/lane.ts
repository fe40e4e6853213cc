import { executorKind } from "./choose-executor.ts";
import type { CommandKind } from "./executor.ts";

/**
 * The lane of its cluster in which a command waits. A reason that keeps the first command of a lane waiting, such as an
 * engine that is not ready, holds for the rest of the lane and for no other lane. Queries share the warm server of their
 * app, so each app has a lane.
 */
export function laneOf(command: CommandKind & { readonly appId: number | null }): string {
  const kind = executorKind(command);
  return kind === "sql" && command.appId !== null ? `sql of app ${command.appId}` : kind;
}
