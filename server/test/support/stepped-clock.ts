import { Client, escapeIdentifier, type ClientConfig } from "pg";

/**
 * Gives a database its own clock that a test can set: a schema with another `now()` precedes PostgreSQL's own. It
 * applies to sessions that are opened later.
 */
export async function addSteppedClock<Connection extends ClientConfig>(connection: Connection): Promise<Connection> {
  const client = new Client(connection);
  await client.connect();
  try {
    await client.query(`
      create schema stepped;
      create table stepped.clock (ahead interval not null);
      insert into stepped.clock values (interval '0');
      create function stepped.now() returns timestamptz stable language sql security definer
        as 'select pg_catalog.now() + ahead from stepped.clock';
      grant usage on schema stepped to public;
      alter table command alter column due_at set default stepped.now();
      alter table command alter column created_at set default stepped.now();
      alter table command_publishing alter column due_at set default stepped.now();
    `);
    const { rows } = await client.query<{ name: string }>("select current_database() as name");
    const database = escapeIdentifier(rows[0]?.name ?? "");
    await client.query(`alter database ${database} set search_path = stepped, pg_catalog, public`);
  } finally {
    await client.end();
  }
  return connection;
}
