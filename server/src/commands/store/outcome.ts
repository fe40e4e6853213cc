import type { Queryable } from "../../db/database.ts";
import { COMMAND_KIND, type CommandStatus, type StoredCommand } from "./command-row.ts";

/** The fields of a command by which its result is found. */
export interface ResultOwner extends StoredCommand {
  readonly id: number;
  readonly accountId: number;
  /** The last one; 0: it never ran. */
  readonly attempt: number;
  /** The size of the last attempt's result when it ended; null: unknown. */
  readonly resultBytes: number | null;
}

/** The state of a command that runs or has ended: status, attempts, and where its files are. */
export interface CommandOutcome extends ResultOwner {
  status: CommandStatus;
  progress: number;
  createdAt: Date;
  /** The size of the last attempt's log; null: unknown. */
  logBytes: number | null;
  /** Attempts that are not completely published yet. */
  unpublished: readonly number[];
  /** The node of each attempt; null: an old version did not store it. */
  nodes: readonly (string | null)[];
  /** Why each attempt failed; null: it runs or succeeded. */
  causes: readonly (string | null)[];
  /** Why the last attempt failed. */
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

interface AttemptRow {
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

/** Returns the given ids of commands that have ended. */
export async function findEnded(db: Queryable, commandIds: readonly number[]): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    "select id from command where id = any ($1) and status in ('done', 'error', 'cancelled')",
    [commandIds],
  );
  return rows.map(({ id }) => id);
}

export interface EndedCommand {
  readonly id: number;
  readonly accountId: number;
  readonly attempt: number;
  readonly createdAt: Date;
  /** As text, because a Date would lose the microseconds that order them. */
  readonly endedAt: string;
}

/** In the order of their end, starting after `after`. */
export function listEndedBefore(
  db: Queryable,
  before: Date,
  after: EndedCommand | undefined,
  limit: number,
): Promise<EndedCommand[]> {
  return db.query<EndedCommand>(
    `select id, account_id as "accountId", attempt, created_at as "createdAt",
            end_time::text as "endedAt"
     from command
     where end_time is not null and end_time < $1 and (end_time, id) > ($2::timestamptz, $3::bigint)
     order by end_time, id limit $4`,
    [before, after?.endedAt ?? "-infinity", after?.id ?? 0, limit],
  );
}
