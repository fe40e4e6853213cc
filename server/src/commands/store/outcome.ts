import type { Queryable } from "../../db/database.ts";
import { COMMAND_KIND, type CommandStatus, type StoredCommand } from "./command-row.ts";

/** What has to be known of a command to find its result. */
export interface ResultOwner extends StoredCommand {
  readonly id: number;
  readonly accountId: number;
  /** The last one; 0: it never ran. */
  readonly attempt: number;
  /** Of the last attempt, as it was when that ended; null: unknown. */
  readonly resultBytes: number | null;
}

/** What is asked of a command that runs or has ended, besides the command itself. */
export interface CommandOutcome extends ResultOwner {
  status: CommandStatus;
  progress: number;
  createdAt: Date;
  /** Of the last attempt; null: unknown. */
  logBytes: number | null;
  /** Attempts of which not all is in the account's storage yet. */
  unpublished: readonly number[];
  /** Of each attempt the node that ran it; null: before that was noted. */
  nodes: readonly (string | null)[];
  /** Of each attempt why it failed; null while it runs and when it succeeded. */
  causes: readonly (string | null)[];
  /** Of the last attempt. */
  cause: string | null;
}

export async function findOutcome(reader: Queryable, id: number): Promise<CommandOutcome | undefined> {
  const [row] = await reader.query<CommandOutcome>(
    `select c.id, c.account_id as "accountId", c.status, c.progress, c.created_at as "createdAt", c.attempt,
            c.result_bytes as "resultBytes", ${COMMAND_KIND},
            c.log_bytes as "logBytes",
            array(select p.attempt from command_publishing p where p.command_id = c.id) as unpublished,
            array(select coalesce(a.node_id, c.node_id)::text
                    from generate_series(1, c.attempt) number
                    left join command_attempt a on a.command_id = c.id and a.number = number.number
                   order by number.number) as nodes,
            array(select a.cause
                    from generate_series(1, c.attempt) number
                    left join command_attempt a on a.command_id = c.id and a.number = number.number
                   order by number.number) as causes,
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
