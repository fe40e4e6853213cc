import { existsSync, readFileSync, rmSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Client, ClientConfig } from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { Fault } from "../../lib/fault.ts";
import { parseKeys, writeKeys, type Key } from "../../lib/key-ring.ts";
import { migrate } from "../migrate.ts";
import { withOperatorLock } from "../operator-lock.ts";
import { ArchiveReader } from "./archive-reader.ts";
import type { AttachDatabase, NewDatabase } from "./attached-database.ts";
import { parseContent, sectionOf, type Content, type Manifest } from "./manifest.ts";
import type { VerifiedExport } from "./verify-export.ts";
import { isEmptyTable, listTables, PORTABLE_TEXT, setSequence } from "./tables-and-sequences.ts";

export interface LoadOptions {
  connection: ClientConfig;
  keyFile: string;
  attach: AttachDatabase;
  progress: (line: string) => void;
}

/**
 * Loads an export into an empty installation, all or nothing: the schema of the time of the export, the rows in one
 * transaction, then later migrations. The key file is written before the commit: rows without their keys would be lost,
 * while keys without rows are harmless, and a second attempt accepts them.
 */
export async function loadExport(verified: VerifiedExport, options: LoadOptions): Promise<void> {
  const { connection, keyFile } = options;
  const { manifest, keys } = verified;
  assertKeyFileFits(keyFile, keys);
  await withOperatorLock(connection, async (client) => {
    await assertEmptyAndUnused(client, manifest);
    await migrate(connection, manifest.migration);
    await client.query(PORTABLE_TEXT);
    await client.query("begin");
    const hadKeys = existsSync(keyFile);
    const made: NewDatabase[] = [];
    try {
      await assertSameTables(client, manifest);
      await loadAll(client, verified, options, made);
      if (!hadKeys) writeKeys(keyFile, keys);
      await client.query("commit");
    } catch (error) {
      await client.query("rollback").catch(() => undefined); // the original error is reported
      if (!hadKeys) rmSync(keyFile, { force: true });
      for (const each of made) await each.drop().catch(() => undefined);
      throw error;
    }
  });
  await migrate(connection);
}

function assertKeyFileFits(keyFile: string, keys: readonly Key[]): void {
  if (!existsSync(keyFile)) return;
  const there = parseKeys(readFileSync(keyFile, "utf8"), keyFile);
  const same = there.length === keys.length && there.every((key, i) => key.bytes.equals(keys[i]?.bytes ?? Buffer.of()));
  if (!same) {
    throw new Fault(
      "conflict",
      `${keyFile} has other keys than the export: move it away, or set HEADGATE_KEY_FILE to a new path.`,
    );
  }
}

async function assertEmptyAndUnused(client: Client, { migration }: Manifest): Promise<void> {
  const { rows } = await client.query<{ others: number }>(
    `select count(*)::int as others from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
  );
  if ((rows[0]?.others ?? 0) > 0) {
    throw new Fault("conflict", "The database is in use: stop the server and all other connections, then import.");
  }
  for (const { name } of await listTables(client)) {
    if (!(await isEmptyTable(client, name))) {
      throw new Fault(
        "conflict",
        `The installation is not empty (table ${name} has rows). Import into a new one: set HEADGATE_DATA_DIR to a new ` +
          "folder, or DATABASE_URL to an empty database.",
      );
    }
  }
  const { rows: there } = await client.query<{ table: string | null }>(
    "select to_regclass('schema_migration') as table",
  );
  if (there[0]?.table === null) return;
  const { rows: applied } = await client.query<{ number: number | null }>(
    "select max(number) as number from schema_migration",
  );
  if ((applied[0]?.number ?? 0) > migration) {
    throw new Fault(
      "conflict",
      `The empty database is at migration ${applied[0]?.number}, the export at ${migration}: import into a database that ` +
        "no version of Headgate has prepared yet.",
    );
  }
}

async function assertSameTables(client: Client, manifest: Manifest): Promise<void> {
  const shape = (tables: readonly { name: string; columns: readonly string[] }[]): string =>
    tables
      .map(({ name, columns }) => `${name}(${columns.toSorted().join(",")})`)
      .toSorted()
      .join("; ");
  const [actual, expected] = [shape(await listTables(client)), shape(manifest.tables)];
  if (actual === expected) return;
  throw new Fault(
    "invalid",
    `The tables of the export are not those of migration ${manifest.migration}: the export or the database was changed by hand.`,
    { cause: new Error(`database: ${actual}\nexport: ${expected}`) },
  );
}

/** `made` collects the databases to delete if anything fails. */
async function loadAll(
  client: Client,
  { unlocked, manifest }: VerifiedExport,
  { attach, progress }: LoadOptions,
  made: NewDatabase[],
): Promise<void> {
  const reader = new ArchiveReader(unlocked);
  for (const head of ["manifest.json", "keys"]) await reader.text(head);
  await loadContent(client, reader, sectionOf(), manifest, progress);
  for (const name of manifest.attached ?? []) {
    const database = await attach(name, client);
    made.push(database);
    await loadAttached(database, reader);
    progress(`${sectionOf(name)}: loaded`);
  }
}

async function loadAttached(database: NewDatabase, reader: ArchiveReader): Promise<void> {
  const section = sectionOf(database.name);
  const content = parseContent(await reader.text(`${section}manifest.json`));
  const schema = await reader.text(`${section}schema.sql`);
  const client = await database.connect();
  try {
    await client.query(PORTABLE_TEXT);
    await client.query("begin");
    await client.query(schema);
    await loadContent(client, reader, section, content, () => undefined);
    await client.query("commit");
  } finally {
    await client.end();
  }
}

async function loadContent(
  client: Client,
  reader: ArchiveReader,
  section: string,
  { tables, sequences }: Content,
  progress: (line: string) => void,
): Promise<void> {
  for (const { name, columns, rows } of tables) {
    const list = columns.map((column) => client.escapeIdentifier(column)).join(", ");
    const copy = client.query(copyFrom(`copy ${client.escapeIdentifier(name)} (${list}) from stdin`));
    await pipeline(Readable.from(reader.rows(section, name)), copy);
    if (copy.rowCount !== rows) throw new Error(`${name}: ${copy.rowCount} of ${rows} rows were loaded`);
    progress(`${name}: ${rows} rows`);
  }
  for (const sequence of sequences) await setSequence(client, sequence);
}
