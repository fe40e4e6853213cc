/**
 * Creates and drops the database and the role of one metastore. These statements do not run in a transaction: a crash
 * may come after any of them, so each can be repeated.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";
import { errorCode } from "../../../db/store-fault.ts";

export interface Rights {
  readonly login: string;
  readonly mayCreateDatabases: boolean;
  readonly mayCreateRoles: boolean;
}

/** Serialises the changes to one name across all nodes. */
export async function lockName(client: Client, name: string): Promise<void> {
  await client.query("select pg_advisory_lock(hashtextextended($1, 0))", [name]);
}

export async function readRights(client: Client): Promise<Rights> {
  const { rows } = await client.query<Rights>(
    `select rolname as login, rolsuper or rolcreatedb as "mayCreateDatabases", rolsuper or rolcreaterole as "mayCreateRoles"
       from pg_roles where rolname = current_user`,
  );
  const [rights] = rows;
  if (rights === undefined) throw new Error("the rights query returned no row");
  return rights;
}

/** Grants nothing: `grantConnect` does that last. A new role has the connection limit 0. */
export async function createOrAlterRole(client: Client, name: string, verifier: string): Promise<void> {
  const role = client.escapeIdentifier(name);
  const options = `login password ${client.escapeLiteral(verifier)}`;
  const exists = await client.query("select from pg_roles where rolname = $1", [name]);
  await client.query(
    exists.rowCount === 0 ? `create role ${role} ${options} connection limit 0` : `alter role ${role} ${options}`,
  );
  // Needed to terminate its connections later.
  await client.query(`grant ${role} to current_user`);
}

/** From template0, which never has connections, in the encoding of the product's database. */
export async function createDatabase(client: Client, name: string): Promise<void> {
  const database = client.escapeIdentifier(name);
  const { rows } = await client.query<{ exists: boolean; encoding: string; collate: string; ctype: string }>(
    `select exists (select from pg_database where datname = $1), pg_encoding_to_char(encoding) as encoding,
            datcollate as collate, datctype as ctype
       from pg_database where datname = current_database()`,
    [name],
  );
  const [own] = rows;
  if (own !== undefined && !own.exists) {
    const [encoding, collate, ctype] = [own.encoding, own.collate, own.ctype].map((text) => client.escapeLiteral(text));
    await client.query(
      `create database ${database} template template0 encoding ${encoding} lc_collate ${collate} lc_ctype ${ctype}`,
    );
  }
  await client.query(`revoke all on database ${database} from public`);
}

/** The client must be connected to the database of that name. */
export async function grantSchema(client: Client, name: string): Promise<void> {
  await client.query(`revoke all on schema public from public`);
  await client.query(`grant usage, create on schema public to ${client.escapeIdentifier(name)}`);
}

export async function grantConnect(client: Client, name: string): Promise<void> {
  const quoted = client.escapeIdentifier(name);
  await client.query(`grant connect on database ${quoted} to ${quoted}`);
}

export async function mayConnect(client: Client, role: string, database: string): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(
    "select pg_catalog.has_database_privilege($1, $2, 'connect') as may",
    [role, database],
  );
  return rows[0]?.may ?? true;
}

export async function databaseExists(client: Client, name: string): Promise<boolean> {
  const { rowCount } = await client.query("select from pg_database where datname = $1", [name]);
  return rowCount !== 0;
}

/** By default every role may connect to every database. Without effect if the product's user does not own it. */
export async function revokePublicConnect(client: Client, database: string): Promise<void> {
  await client.query(`revoke connect on database ${client.escapeIdentifier(database)} from public`);
}

const DROP_TRIES = 50;
const TRY_AGAIN_MS = 100;
const IN_USE = "55006";

/**
 * Not "with (force)": that is refused while an autovacuum worker, a superuser's process, works in the database. A plain
 * drop cancels such a worker.
 */
export async function dropDatabaseAndRole(client: Client, name: string): Promise<void> {
  const quoted = client.escapeIdentifier(name);
  const role = await client.query("select from pg_roles where rolname = $1", [name]);
  if (role.rowCount !== 0) {
    await client.query(`alter role ${quoted} nologin`); // terminated clients must not reconnect
    await client.query(`grant ${quoted} to current_user`);
  }
  for (let tries = 1; ; tries += 1) {
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = $1 and usename in ($1, current_user) and pid <> pg_backend_pid()`,
      [name],
    );
    try {
      await client.query(`drop database if exists ${quoted}`);
      break;
    } catch (error) {
      if (errorCode(error) !== IN_USE || tries === DROP_TRIES) throw error;
      await delay(TRY_AGAIN_MS);
    }
  }
  await client.query(`drop role if exists ${quoted}`);
}

/** Whether the database of this connection has no table yet. */
export async function isEmptyDatabase(client: Client): Promise<boolean> {
  const { rowCount } = await client.query("select from pg_catalog.pg_tables where schemaname = 'public' limit 1");
  return rowCount === 0;
}

export async function listAccountsWithDatabase(client: Client, prefix: string): Promise<number[]> {
  const { rows } = await client.query<{ number: string }>(
    `select substr(datname, length($1) + 1) as number from pg_database where starts_with(datname::text, $1)`,
    [prefix],
  );
  return rows.filter(({ number }) => /^[1-9]\d{0,15}$/.test(number)).map(({ number }) => Number(number));
}

/** Names of databases and roles whose account was deleted. */
export async function listOrphans(client: Client, prefix: string, limit: number): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `with named as (
       select datname::text as name from pg_database where starts_with(datname::text, $1)
       union select rolname::text from pg_roles where starts_with(rolname::text, $1)),
     numbered as (select name, substr(name, length($1) + 1) as number from named)
     select name from numbered
      where case when number ~ '^[1-9][0-9]{0,17}$'
                 then not exists (select from account where id = number::bigint) else false end
      order by name limit $2`,
    [prefix, limit],
  );
  return rows.map(({ name }) => name);
}
