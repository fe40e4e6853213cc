import type { Queryable } from "../../db/database.ts";
import type { Log } from "../../lib/log.ts";
import type { CommandFiles } from "../execution/command-files.ts";
import { writeToLog } from "../execution/run-log.ts";
import type { RunnableCommand } from "../store/command-row.ts";
import { endUnclaimed } from "../store/queue.ts";

export interface EndServices {
  readonly db: Queryable;
  readonly node: { readonly id: string };
  readonly filesOf: (command: RunnableCommand) => CommandFiles;
  readonly onEnd: (commandId: number) => void;
  readonly log: Log;
}

/** Ends a waiting command that no node can run as `error`. Does nothing if a node has claimed it meanwhile. */
export async function endWaiting(
  { db, node, filesOf, onEnd, log }: EndServices,
  command: RunnableCommand,
  cause: string,
): Promise<void> {
  const attempt = await endUnclaimed(db, { id: command.id, nodeId: node.id, cause });
  if (attempt === undefined) return;
  await writeToLog(filesOf(command).attempt(attempt), { cause, next: { status: "error" } });
  log.warn({ command: command.id, account: command.accountId }, `command ended as error: ${cause}`);
  onEnd(command.id);
}
