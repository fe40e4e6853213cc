import type { Queryable } from "../../db/database.ts";
import type { CommandStatus } from "./command-row.ts";

/** What is asked of a command that runs or has ended, besides the command itself. */
export interface CommandOutcome {
  id: number;
  accountId: number;
  status: CommandStatus;
  progress: number;
  createdAt: Date;
  /** The last one; 0: it never ran. */
  attempt: number;
  /** Of the last attempt; null while it runs and when it succeeded. */
  cause: string | null;
}

export async function findOutcome(reader: Queryable, id: number): Promise<CommandOutcome | undefined> {
  const [row] = await reader.query<CommandOutcome>(
    `select c.id, c.account_id as "accountId", c.status, c.progress, c.created_at as "createdAt", c.attempt,
            (select a.cause from command_attempt a where a.command_id = c.id and a.number = c.attempt) as cause
       from command c where c.id = $1`,
    [id],
  );
  return row;
}

export interface AttemptRow {
  number: number;
  startedAt: Date;
  endedAt: Date | null;
  exitCode: number | null;
  cause: string | null;
}

export function listAttempts(reader: Queryable, commandId: number): Promise<AttemptRow[]> {
  return reader.query<AttemptRow>(
    `select number, started_at as "startedAt", ended_at as "endedAt", exit_code as "exitCode", cause
       from command_attempt where command_id = $1 order by number`,
    [commandId],
  );
}
