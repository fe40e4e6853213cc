import { executorKind } from "./choose-executor.ts";
import type { CommandKind } from "./executor.ts";

/**
 * The lane in which a command waits on its cluster. A reason that keeps the first command of a lane waiting, such as an
 * engine that is not ready, applies to the whole lane and to no other. The queries of an app share its warm server, so
 * each app has a lane of its own.
 */
export function laneOf(command: CommandKind & { readonly appId: number | null }): string {
  const kind = executorKind(command);
  return kind === "sql" && command.appId !== null ? `sql of app ${command.appId}` : kind;
}
