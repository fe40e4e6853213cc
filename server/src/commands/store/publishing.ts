import type { Queryable } from "../../db/database.ts";
import { COMMAND_KIND } from "./command-row.ts";
import type { ResultOwner } from "./outcome.ts";

/** An attempt that ended on this node and whose files are not all in its account's storage yet. */
export interface UnpublishedAttempt extends ResultOwner {
  readonly createdAt: Date;
  /** Whether its output is the result of the command. */
  readonly hasResult: boolean;
}

export interface PublishingTurn {
  /** Accounts to skip. */
  readonly leaveAlone: readonly number[];
  /** Starts after this account, in the order of their ids. */
  readonly after: number;
  readonly accounts: number;
  /** The most attempts of each account. */
  readonly each: number;
}

/** Finds accounts by skipping through the index, so the number of attempts of one account does not matter to others. */
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
     select c.id, head.attempt, c.account_id as "accountId", c.created_at as "createdAt",
            c.result_bytes as "resultBytes", ${COMMAND_KIND},
            c.status = 'done' and c.attempt = head.attempt as "hasResult"
     from chosen
     cross join lateral (
       select command_id, attempt, due_at from command_publishing p
       where p.node_id = $1 and p.account_id = chosen.account_id and p.due_at <= now()
       order by p.due_at limit $5
     ) head
     join command c on c.id = head.command_id
     order by head.due_at, c.id`,
    [nodeId, [...leaveAlone], after, accounts, each],
  );
}

type AttemptKey = Pick<UnpublishedAttempt, "id" | "attempt">;

export async function notePublished(db: Queryable, attempts: readonly AttemptKey[]): Promise<void> {
  await db.query(
    `delete from command_publishing p using unnest($1::bigint[], $2::integer[]) done (command_id, attempt)
     where p.command_id = done.command_id and p.attempt = done.attempt`,
    [attempts.map(({ id }) => id), attempts.map(({ attempt }) => attempt)],
  );
}

/** The delay before the next try grows with each failure. */
export async function noteUnpublishable(db: Queryable, { id, attempt }: AttemptKey, reason: string): Promise<void> {
  await db.query(
    `update command_publishing
     set failure = $3, tries = tries + 1, due_at = now() + make_interval(secs => least(power(2, least(tries, 10)), 60))
     where command_id = $1 and attempt = $2`,
    [id, attempt, reason],
  );
}

/** The storage has failed, so all waiting attempts get the same reason. A row is written only if its reason changes. */
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
