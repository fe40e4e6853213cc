import { recordAudit } from "../access/audit/store.ts";
import type { Queryable, Tx } from "../db/database.ts";

/** Statements of the command line only; those shared with the API are in its slices. */
const OPERATOR = "operator (command line)";

/** There is no login on a command line: anyone who can read the data directory or DATABASE_URL is the operator. */
export function sendAudit(tx: Tx, accountId: number, operation: string, object: string | null): void {
  recordAudit(tx, { accountId, userId: null, email: OPERATOR, address: null, requestId: null }, operation, object);
}

export interface AccountName {
  id: number;
  name: string;
  members: number;
}

export async function findAccount(system: Queryable, accountId: number): Promise<AccountName | undefined> {
  const [row] = await system.query<AccountName>(
    `select id, name, (select count(*) from membership m where m.account_id = a.id) as members
       from account a where id = $1`,
    [accountId],
  );
  return row;
}

export async function listOperators(system: Queryable): Promise<string[]> {
  const rows = await system.query<{ email: string }>(
    `select u.email from membership m join app_user u on u.id = m.user_id
      where m.is_operator and m.state = 'active' order by m.id`,
  );
  return rows.map(({ email }) => email);
}

export interface Admin {
  membershipId: number;
  email: string;
}

/** The active system-admins of an account, operators first, then by age. */
export async function listAdmins(system: Queryable, accountId: number): Promise<Admin[]> {
  return system.query(
    `select m.id as "membershipId", u.email
       from membership m join app_user u on u.id = m.user_id
      where m.account_id = $1 and m.state = 'active'
        and exists (select from access_group_member gm join access_group g on g.id = gm.group_id
                     where gm.membership_id = m.id and g.name = 'system-admin')
      order by m.is_operator desc, m.id`,
    [accountId],
  );
}

export interface LockedOutMember {
  email: string;
  /** Null: the member has signed in, but no audit event has an address. */
  address: string | null;
}

export interface LockedOutMembers {
  first: LockedOutMember[];
  count: number;
}

/**
 * The active members of an account whose last known address is on no entry of its whitelist. The last known address is
 * that of the latest audit event, a change or a denial: reading requests leave no address. Members who have never
 * signed in are left out.
 */
export async function listLockedOut(tx: Tx, accountId: number, limit: number): Promise<LockedOutMembers> {
  const latest = (outcome: string): string =>
    `(select id, address from audit_event
       where account_id = m.account_id and user_id = m.user_id and outcome = '${outcome}' and address is not null
       order by id desc limit 1)`;
  const rows = await tx.query<LockedOutMember & { count: number }>(
    `select u.email, last.address, count(*) over () as count
       from membership m
       join app_user u on u.id = m.user_id
       left join lateral (
         select address from (${latest("done")} union all ${latest("denied")}) latest order by id desc limit 1
       ) last on true
      where m.account_id = $1 and m.state = 'active' and (m.last_login is not null or last.address is not null)
        and not exists (select from whitelisted_ip w where w.account_id = $1 and w.ip_cidr >>= last.address::inet)
      order by u.email limit $2`,
    [accountId, limit],
  );
  return { first: rows.map(({ email, address }) => ({ email, address })), count: rows[0]?.count ?? 0 };
}

export interface Counts {
  server: string;
  database: string;
  sizeBytes: number;
  accounts: number;
  users: number;
  auditEvents: number;
  connections: number;
}

export async function readCounts(system: Queryable): Promise<Counts> {
  const [row] = await system.query<Counts>(
    `select current_setting('server_version') as server, current_database() as database,
            pg_database_size(current_database()) as "sizeBytes",
            (select count(*) from account) as accounts,
            (select count(*) from app_user) as users,
            (select count(*) from audit_event) as "auditEvents",
            (select count(*) from pg_stat_activity
              where datname = current_database() and application_name = 'headgate') as connections`,
  );
  if (row === undefined) throw new Error("a select without a table returned no row");
  return row;
}

/** Whether any migration was ever applied. */
export async function hasSchema(system: Queryable): Promise<boolean> {
  const [row] = await system.query<{ there: boolean }>("select to_regclass('schema_migration') is not null as there");
  return row?.there ?? false;
}
