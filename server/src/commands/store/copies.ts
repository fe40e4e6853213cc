/** The SQL for copies: columns of a command that only they need. */
import type { Queryable } from "../../db/database.ts";
import type { RunnableCommand } from "./command-row.ts";

export interface StoredCopy extends Pick<RunnableCommand, "id" | "accountId" | "command" | "resolvedMacros"> {
  readonly attempt: number;
  readonly hasEnded: boolean;
  readonly isDone: boolean;
  /** Sealed; null: its arguments contain no credentials. */
  readonly secrets: Buffer | null;
}

export async function findCopy(system: Queryable, id: number): Promise<StoredCopy | undefined> {
  const [row] = await system.query<StoredCopy>(
    `select id, account_id as "accountId", command, resolved_macros as "resolvedMacros", attempt, secrets,
            end_time is not null as "hasEnded", status = 'done' as "isDone"
       from command where id = $1`,
    [id],
  );
  return row;
}

/** The node of the first attempt, which has the journal; null: unknown. Later attempts can continue only there. */
export async function nodeOfFirstAttempt(system: Queryable, commandId: number): Promise<string | null> {
  const [row] = await system.query<{ nodeId: string }>(
    `select node_id as "nodeId" from command_attempt
      where command_id = $1 and node_id is not null order by number limit 1`,
    [commandId],
  );
  return row?.nodeId ?? null;
}
