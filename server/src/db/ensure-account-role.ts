import type { Client } from "pg";
import { Fault } from "../lib/fault.ts";

const OLDEST_SERVER = 150_000;

interface Rights {
  version: number;
  version_text: string;
  login: string;
  database: string;
  may_create: boolean;
  may_create_roles: boolean;
  role_exists: boolean;
  may_use_role: boolean;
}

/**
 * Checks the privileges on an external PostgreSQL (DATABASE_URL) before a migration fails halfway, and creates the role
 * for row-level security. Roles belong to the whole server, so another database may have created it already.
 */
export async function ensureAccountRole(client: Client): Promise<void> {
  const rights = await readRights(client);
  if (rights.version < OLDEST_SERVER) {
    throw new Fault(
      "invalid",
      `DATABASE_URL must point to PostgreSQL 15 or newer; this server is ${rights.version_text}.`,
    );
  }
  if (!rights.may_create) {
    throw new Fault(
      "invalid",
      `DATABASE_URL: the user ${rights.login} cannot create tables in the database ${rights.database}. As its owner: ` +
        `grant create on schema public to "${rights.login}"; grant create on database "${rights.database}" to "${rights.login}";`,
    );
  }
  if (rights.may_use_role) return;
  if (!rights.role_exists && rights.may_create_roles) {
    // Two databases of one server may do this at the same time; the second finds the role.
    await client.query(
      `do $$ begin create role headgate_account nologin; exception when duplicate_object or unique_violation then null; end $$`,
    );
  }
  if (rights.may_create_roles) {
    await client.query(`grant headgate_account to current_user`).catch(() => undefined);
  }
  const now = await readRights(client);
  if (!now.may_use_role) {
    throw new Fault(
      "invalid",
      `DATABASE_URL: the user ${rights.login} needs the role headgate_account, which row-level security uses. ` +
        `As a superuser: ${rights.role_exists ? "" : "create role headgate_account nologin; "}` +
        `grant headgate_account to "${rights.login}";`,
    );
  }
}

async function readRights(client: Client): Promise<Rights> {
  const { rows } = await client.query<Rights>(
    `select current_setting('server_version_num')::int as version,
            current_setting('server_version') as version_text,
            current_user as login,
            current_database() as database,
            has_schema_privilege('public', 'create') as may_create,
            (select rolcreaterole or rolsuper from pg_roles where rolname = current_user) as may_create_roles,
            exists (select from pg_roles where rolname = 'headgate_account') as role_exists,
            coalesce((select pg_has_role(current_user, oid, case
                               when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end)
                      from pg_roles where rolname = 'headgate_account'), false) as may_use_role`,
  );
  const [rights] = rows;
  if (rights === undefined) throw new Error("the rights query returned no row");
  return rights;
}
