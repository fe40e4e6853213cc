import type { Queryable } from "../../db/database.ts";

/** An attempt that has ended on this node and whose files are not all in the storage of its account. */
export interface UnpublishedAttempt {
  readonly commandId: number;
  readonly attempt: number;
  readonly accountId: number;
  readonly createdAt: Date;
  /** Whether what it printed is the command's result. */
  readonly hasResult: boolean;
}

export interface PublishingTurn {
  /** Accounts that are not to be looked at. */
  readonly leaveAlone: readonly number[];
  /** Those behind this one, in the order of their ids. */
  readonly after: number;
  readonly accounts: number;
  /** Attempts of each. */
  readonly each: number;
}

/** Accounts are found by hopping over the index: however much one of them has to do, the others are as near. */
export function listUnpublished(
  db: Queryable,
  nodeId: string,
  { leaveAlone, after, accounts, each }: PublishingTurn,
): Promise<UnpublishedAttempt[]> {
  return db.query<UnpublishedAttempt>(
    `with recursive owner as (
       (select account_id from command_publishing where node_id = $1 and account_id > $3 order by account_id limit 1)
       union all
       select (select account_id from command_publishing p where p.node_id = $1 and p.account_id > owner.account_id
               order by p.account_id limit 1)
       from owner where owner.account_id is not null
     ), chosen as (
       select account_id from owner
       where account_id <> all ($2::bigint[]) and exists (
         select from command_publishing p
         where p.node_id = $1 and p.account_id = owner.account_id and p.due_at <= now())
       limit $4
     )
     select command.id as "commandId", head.attempt, command.account_id as "accountId",
            command.created_at as "createdAt",
            command.status = 'done' and command.attempt = head.attempt as "hasResult"
     from chosen
     cross join lateral (
       select command_id, attempt, due_at from command_publishing p
       where p.node_id = $1 and p.account_id = chosen.account_id and p.due_at <= now()
       order by p.due_at limit $5
     ) head
     join command on command.id = head.command_id
     order by head.due_at, command.id`,
    [nodeId, [...leaveAlone], after, accounts, each],
  );
}

type AttemptKey = Pick<UnpublishedAttempt, "commandId" | "attempt">;

export async function notePublished(db: Queryable, attempts: readonly AttemptKey[]): Promise<void> {
  await db.query(
    `delete from command_publishing p using unnest($1::bigint[], $2::integer[]) done (command_id, attempt)
     where p.command_id = done.command_id and p.attempt = done.attempt`,
    [attempts.map(({ commandId }) => commandId), attempts.map(({ attempt }) => attempt)],
  );
}

/** The next try comes later and later. */
export async function noteUnpublishable(
  db: Queryable,
  { commandId, attempt }: AttemptKey,
  reason: string,
): Promise<void> {
  await db.query(
    `update command_publishing
     set failure = $3, tries = tries + 1, due_at = now() + make_interval(secs => least(power(2, least(tries, 10)), 60))
     where command_id = $1 and attempt = $2`,
    [commandId, attempt, reason],
  );
}

/** The storage is at fault: what waits for it, waits for the same reason. Each row is written once for one reason. */
export async function noteStorageFault(
  db: Queryable,
  nodeId: string,
  accountId: number,
  reason: string,
): Promise<void> {
  await db.query(
    `update command_publishing set failure = $3
     where node_id = $1 and account_id = $2 and failure is distinct from $3`,
    [nodeId, accountId, reason],
  );
}
