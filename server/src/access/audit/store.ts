import type { Queryable, Tx } from "../../db/database.ts";

/** Who makes the change: a caller, a user that is being created, or the operator on the command line. */
export interface Actor {
  readonly accountId: number;
  readonly userId: number | null;
  readonly email: string;
  readonly address: string | null;
  readonly requestId: string | null;
}

/**
 * Part of the transaction of the change. It is sent with the commit, so it costs no round trip, and if it fails nothing
 * is changed.
 */
export function recordAudit(
  tx: Tx,
  caller: Actor,
  operation: string,
  object: string | null,
  detail?: { readonly before: unknown; readonly after: unknown },
): void {
  const { accountId, userId, email, address, requestId } = caller;
  tx.send(
    `insert into audit_event (account_id, user_id, email, address, operation, object, outcome, request_id, detail)
     values ($1, $2, $3, $4, $5, $6, 'done', $7, $8)`,
    [accountId, userId, email, address, operation, object, requestId, detail ? JSON.stringify(detail) : null],
  );
}

export interface Denial {
  accountId: number;
  userId: number;
  tokenId: number;
  email: string;
  address: string;
  operation: string;
  requestId: string;
  minute: Date;
  count: number;
}

/**
 * Writes one row per token, operation and minute, in the given order; repeated denials only increase its count. No two
 * of the given denials may belong to the same row.
 */
export async function addDenials(system: Queryable, denials: readonly Denial[]): Promise<void> {
  await system.query(
    `insert into audit_event
       (account_id, user_id, token_id, email, address, operation, outcome, request_id, minute, count)
     select account_id, user_id, token_id, email, address, operation, 'denied', request_id, minute, count
       from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
                   $8::timestamptz[], $9::integer[])
         with ordinality
         as denied (account_id, user_id, token_id, email, address, operation, request_id, minute, count, position)
      where exists (select from account where id = denied.account_id)
      order by position
     on conflict (token_id, operation, minute) where outcome = 'denied'
       do update set count = audit_event.count + excluded.count`,
    [
      denials.map(({ accountId }) => accountId),
      denials.map(({ userId }) => userId),
      denials.map(({ tokenId }) => tokenId),
      denials.map(({ email }) => email),
      denials.map(({ address }) => address),
      denials.map(({ operation }) => operation),
      denials.map(({ requestId }) => requestId),
      denials.map(({ minute }) => minute),
      denials.map(({ count }) => count),
    ],
  );
}

export interface AuditEventRow {
  id: number;
  at: Date;
  user_id: number | null;
  email: string | null;
  address: string | null;
  operation: string;
  object: string | null;
  outcome: "done" | "denied";
  request_id: string | null;
  count: number;
  detail: { before: unknown; after: unknown } | null;
}

export interface AuditFilter {
  operation?: string | undefined;
  object?: string | undefined;
  userId?: number | undefined;
  outcome?: "done" | "denied" | undefined;
  /** Inclusive. */
  from?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
}

/**
 * The time of an event is the start of its transaction, and its id is assigned at the end, at most 12 seconds later
 * (`requestWork.unitMs`). So events can have ids in another order than their times, but only within that time: the skew
 * is far larger.
 */
const SKEW = "interval '5 minutes'";
const OUTCOMES = ["done", "denied"] as const;
/** Longer texts, such as lists of ids, are not in the index. */
export const MAX_FILTERED_OBJECT_BYTES = 1024;

/**
 * Newest first. A late page skips ids in the index; only the rows of the page are read. The indexes for the filters
 * begin with the filtered columns and the outcome, followed by the id. Without an outcome, the newest events of each
 * outcome are merged. A period is first turned into a range of ids.
 */
export async function listAuditEvents(
  reader: Queryable,
  { beforeId, limit, offset }: { beforeId: number; limit: number; offset: number },
  filter: AuditFilter = {},
): Promise<AuditEventRow[]> {
  const values: unknown[] = [beforeId, limit, offset];
  const conditions = ["account_id = current_account_id()", "id < $1"];
  const add = (value: unknown, condition: (parameter: string) => string): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  add(filter.operation, (parameter) => `operation = ${parameter}`);
  add(filter.object, (parameter) => `object = ${parameter} and octet_length(object) <= ${MAX_FILTERED_OBJECT_BYTES}`);
  add(filter.userId, (parameter) => `user_id = ${parameter}`);
  add(filter.from, (parameter) => `at >= ${parameter} and id > ${boundary("max", `at < ${parameter} - ${SKEW}`, 0)}`);
  add(
    filter.until,
    (parameter) =>
      `at < ${parameter} and id < ${boundary("min", `at >= ${parameter} + ${SKEW}`, Number.MAX_SAFE_INTEGER)}`,
  );
  const newest = (outcome = ""): string =>
    `(select id from audit_event where ${conditions.join(" and ")}${outcome} order by id desc limit $2::bigint + $3)`;
  const branches = outcomesOf(filter).map((outcome) => newest(` and outcome = '${outcome}'`));
  return reader.query(
    `select id, at, user_id, email, address, operation, object, outcome, request_id, count, detail
       from audit_event
      where id in (
        select id from (${branches.length === 0 ? newest() : branches.join(" union all ")}) newest
         order by id desc limit $2 offset $3)
      order by id desc`,
    values,
  );
}

/**
 * SQL for the id of the nearest event that is certainly outside of the period, or `none`. It avoids `coalesce`, because
 * row-level security would keep that out of the condition of an index.
 */
function boundary(choice: "max" | "min", isOutside: string, none: number): string {
  const direction = choice === "max" ? "desc" : "asc";
  return `(select ${choice}(outside.id) from (
             (select id from audit_event where account_id = (select current_account_id()) and ${isOutside}
               order by at ${direction}, id ${direction} limit 1)
             union all select ${none}) outside)`;
}

/** The outcomes to merge. Without a filter there are none: the index of all events is in the order of ids. */
function outcomesOf({ outcome, operation, object, userId }: AuditFilter): readonly (typeof OUTCOMES)[number][] {
  if (outcome !== undefined) return [outcome];
  return operation === undefined && object === undefined && userId === undefined ? [] : OUTCOMES;
}
