import type { Client } from "pg";
import { errorCode } from "../../../db/store-fault.ts";

/** Only one node at a time changes the limits, as they must fit together. */
export async function withLimitsLocked(client: Client, prefix: string, work: () => Promise<void>): Promise<void> {
  await client.query("select pg_advisory_lock(hashtextextended($1, 1))", [prefix]);
  try {
    await work();
  } finally {
    // A broken connection unlocks as well, and the error of the work is more useful.
    await client.query("select pg_advisory_unlock(hashtextextended($1, 1))", [prefix]).catch(() => undefined);
  }
}

/** The connections of the server, and how many of them are reserved for the product. */
export interface ServerRoom {
  /** Connections that are not reserved for superusers or for roles with that right. */
  readonly connections: number;
  /** Those that the product's user may use and metastores may not. */
  readonly reserved: number;
}

export async function readServerRoom(client: Client): Promise<ServerRoom> {
  const { rows } = await client.query<ServerRoom>(
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
              - reserved.connections as connections,
            case when exists (
              select from pg_roles r
               where r.rolname = 'pg_use_reserved_connections' and pg_has_role(current_user, r.oid, 'usage')
            ) then reserved.connections else 0 end as reserved
       from (select coalesce(current_setting('reserved_connections', true)::int, 0) as connections) reserved`,
  );
  const [room] = rows;
  if (room === undefined) throw new Error("the query for the server's connections returned no row");
  return room;
}

export interface LimitedRole {
  readonly name: string;
  /** -1: no limit. */
  readonly limit: number;
  /** On all nodes. */
  readonly sessions: number;
  /** The number of sessions that its database has ever had. */
  readonly established: number;
}

export async function listRoles(client: Client, prefix: string): Promise<LimitedRole[]> {
  const { rows } = await client.query<LimitedRole>(
    `select rolname as name, rolconnlimit as limit,
            (select count(*)::int from pg_stat_activity where usesysid = pg_roles.oid) as sessions,
            coalesce((select sessions from pg_stat_database where datname = rolname), 0)::float8 as established
       from pg_roles where starts_with(rolname, $1) order by rolname`,
    [prefix],
  );
  return rows;
}

export async function readConnectionLimit(client: Client, role: string): Promise<number> {
  const { rows } = await client.query<{ limit: number }>(
    "select rolconnlimit as limit from pg_catalog.pg_roles where rolname = $1",
    [role],
  );
  return rows[0]?.limit ?? -1;
}

/** Not permitted, dropped meanwhile, or altered by another node at the same moment. */
const UNALTERABLE = new Set(["42501", "42704", "XX000"]);

/** A role that this user may not alter, because another user created it, keeps its limit. */
export async function setConnectionLimit(client: Client, name: string, connections: number): Promise<void> {
  const role = client.escapeIdentifier(name);
  await client.query(`alter role ${role} connection limit ${connections}`).catch((error: unknown) => {
    if (!UNALTERABLE.has(errorCode(error))) throw error;
  });
}

/** A limit counts for new sessions only. Idle sessions above it end, the newest first; the others finish their work. */
export async function endIdleSessionsAboveLimit(client: Client, prefix: string): Promise<void> {
  await client.query(
    `select pg_terminate_backend(pid)
       from (select pid, state, rolconnlimit, row_number() over (
                      partition by usesysid order by state is not distinct from 'idle', backend_start) as rank
               from pg_stat_activity join pg_roles on pg_roles.oid = usesysid
              where starts_with(rolname, $1) and pg_has_role(current_user, usesysid, 'usage')) session
      where rolconnlimit >= 0 and rank > rolconnlimit and state = 'idle'`,
    [prefix],
  );
}
