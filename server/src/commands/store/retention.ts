import type { Queryable } from "../../db/database.ts";

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
