import { readdir, readFile } from "node:fs/promises";
import { Client, type ClientConfig } from "pg";
import { Fault } from "../lib/fault.ts";
import type { Queryable } from "./database.ts";
import { ensureAccountRole } from "./ensure-account-role.ts";
import { KEEP_ALIVE } from "./work-limits.ts";

const MIGRATIONS = new URL("migrations/", import.meta.url);
const LOCK_KEY = 0x68656164; // "head"
const CONNECT_LIMIT_MS = 10_000;

export interface Migration {
  number: number;
  name: string;
  sql: string;
}

/** Migrations are numbered files, applied in order and never changed after a release. */
export async function readMigrations(): Promise<Migration[]> {
  const files = (await readdir(MIGRATIONS)).filter((file) => file.endsWith(".sql")).toSorted();
  return Promise.all(
    files.map(async (file, index) => {
      const number = Number(file.slice(0, 4));
      if (number !== index + 1) throw new Error(`migrations must be numbered without gaps: ${file}`);
      return { number, name: file.slice(5, -4), sql: await readFile(new URL(file, MIGRATIONS), "utf8") };
    }),
  );
}

/**
 * Migrates the database to this version, or to `upTo`. Safe if several processes start at once: a session lock lets one
 * of them work, and the others find nothing left to do.
 */
export async function migrate(connection: ClientConfig, upTo = Number.POSITIVE_INFINITY): Promise<Migration[]> {
  const client = new Client({ connectionTimeoutMillis: CONNECT_LIMIT_MS, ...KEEP_ALIVE, ...connection });
  client.on("error", () => undefined); // a lost connection fails the next statement
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [LOCK_KEY]);
    await ensureAccountRole(client);
    await client.query(
      `create table if not exists schema_migration (
         number integer primary key, name text not null, applied_at timestamptz not null default now())`,
    );
    const applied = await appliedNumber(client);
    const known = await readMigrations();
    if (applied > known.length) {
      throw new Fault(
        "invalid",
        `The database is at migration ${applied}, this version of Headgate knows ${known.length}. ` +
          "Start the newer version, or restore a backup made by this one.",
      );
    }
    const due = known.filter(({ number }) => number > applied && number <= upTo);
    for (const migration of due) await apply(client, migration);
    return due;
  } finally {
    await client.end();
  }
}

/** The migration state of the database, for a running server. */
export async function migrationState(system: Queryable): Promise<{ applied: number; known: number }> {
  const [[row], known] = await Promise.all([
    system.query<{ applied: number }>("select coalesce(max(number), 0) applied from schema_migration"),
    readMigrations(),
  ]);
  return { applied: row?.applied ?? 0, known: known.length };
}

async function appliedNumber(client: Client): Promise<number> {
  const { rows } = await client.query<{ applied: number }>(
    "select coalesce(max(number), 0) applied from schema_migration",
  );
  return rows[0]?.applied ?? 0;
}

async function apply(client: Client, { number, name, sql }: Migration): Promise<void> {
  await client.query("begin");
  try {
    await client.query(sql);
    await client.query("insert into schema_migration (number, name) values ($1, $2)", [number, name]);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined); // the connection and its transaction may be lost
    const why = error instanceof Error ? error.message : String(error);
    throw new Fault(
      "internal",
      `migration ${number} (${name}) failed and was undone: ${why}. Headgate needs a database of its own.`,
      { cause: error },
    );
  }
}
