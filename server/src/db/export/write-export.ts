import { existsSync } from "node:fs";
import type { Client, ClientConfig } from "pg";
import { to as copyTo } from "pg-copy-streams";
import { pack as packTar, type Pack } from "tar-stream";
import { Fault } from "../../lib/fault.ts";
import type { Secret } from "../../lib/secret.ts";
import { withOperatorLock } from "../operator-lock.ts";
import { dumpSchema } from "../schema-dump.ts";
import type { AttachedDatabase } from "./attached-database.ts";
import { chunkName, FORMAT, sectionOf, type Content, type Manifest } from "./manifest.ts";
import { writeSealedFile } from "./sealed-file.ts";
import { countRows, listSequences, listTables, PORTABLE_TEXT, type Table } from "./tables-and-sequences.ts";

export interface ExportOptions {
  connection: ClientConfig;
  file: string;
  passphrase: Secret;
  /** Called after the snapshot was taken: by then the file has every key that the data is sealed with. */
  readKeyFile: () => string;
  productVersion: string;
  /** The attached databases, as of the snapshot. */
  listAttached: (client: Client) => Promise<readonly AttachedDatabase[]>;
  now: Date;
  progress: (line: string) => void;
}

/** A tar entry starts with its size, so a table is written in chunks; memory does not grow with the table. */
const CHUNK_BYTES = 4 * 1024 * 1024;

const SNAPSHOT = "begin isolation level repeatable read read only";

/**
 * Exports the whole installation, as of one moment, to one file; the server may keep running. Attached databases
 * follow, each as of its own moment.
 */
export async function writeExport(options: ExportOptions): Promise<Manifest> {
  const { connection, file, passphrase } = options;
  if (existsSync(file)) throw new Fault("conflict", `${file} already exists: choose another file.`);
  return withOperatorLock(connection, async (client) => {
    await client.query(PORTABLE_TEXT);
    await client.query(SNAPSHOT);
    const attached = await options.listAttached(client);
    const manifest = await describe(client, options, attached);
    const fill = async (pack: Pack): Promise<void> => {
      await addText(pack, "manifest.json", JSON.stringify(manifest, null, 1));
      await addText(pack, "keys", options.readKeyFile());
      await addTables(client, pack, sectionOf(), manifest, options.progress);
      for (const each of attached) await addAttached(pack, each, options.progress);
    };
    await writeSealedFile(file, passphrase, archive(fill));
    return manifest;
  });
}

async function describe(
  client: Client,
  { productVersion, now }: ExportOptions,
  attached: readonly AttachedDatabase[],
): Promise<Manifest> {
  const { rows } = await client.query<{ migration: number }>("select max(number) as migration from schema_migration");
  return {
    format: FORMAT,
    product: productVersion,
    migration: rows[0]?.migration ?? 0,
    createdAt: now.toISOString(),
    ...(await describeContent(client)),
    attached: attached.map(({ name }) => name),
  };
}

async function describeContent(client: Client): Promise<Content> {
  const tables: Content["tables"] = [];
  for (const table of await listTables(client)) tables.push({ ...table, rows: await countRows(client, table.name) });
  return { tables, sequences: await listSequences(client) };
}

/** The bytes of the tar archive, produced as they are read; an error while producing them is thrown to the reader. */
async function* archive(fill: (pack: Pack) => Promise<void>): AsyncGenerator<Buffer, void, void> {
  const pack = packTar();
  const filled = fill(pack).then(() => pack.finalize());
  filled.catch((error: unknown) => pack.destroy(error instanceof Error ? error : new Error(String(error))));
  try {
    // The type lacks an iterator of buffers, which is what it yields without an encoding.
    yield* pack as AsyncIterable<Buffer>;
  } finally {
    pack.destroy();
    await filled;
  }
}

async function addAttached(pack: Pack, attached: AttachedDatabase, progress: (line: string) => void): Promise<void> {
  const section = sectionOf(attached.name);
  const client = await attached.connect();
  try {
    await client.query(PORTABLE_TEXT);
    await client.query(SNAPSHOT);
    const content = await describeContent(client);
    await addText(pack, `${section}manifest.json`, JSON.stringify(content, null, 1));
    await addText(pack, `${section}schema.sql`, await dumpSchema(client));
    await addTables(client, pack, section, content, () => undefined);
    progress(`${section}: ${content.tables.length} tables`);
  } finally {
    await client.end();
  }
}

async function addTables(
  client: Client,
  pack: Pack,
  section: string,
  { tables }: Content,
  progress: (line: string) => void,
): Promise<void> {
  for (const table of tables) {
    await addTable(client, pack, section, table);
    progress(`${table.name}: ${table.rows} rows`);
  }
}

async function addTable(client: Client, pack: Pack, section: string, { name, columns }: Table): Promise<void> {
  const list = columns.map((column) => client.escapeIdentifier(column)).join(", ");
  const rows = client.query(copyTo(`copy ${client.escapeIdentifier(name)} (${list}) to stdout`));
  let number = 0;
  let gathered: Buffer[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (bytes === 0) return;
    number += 1;
    await addEntry(pack, chunkName(section, name, number), Buffer.concat(gathered));
    gathered = [];
    bytes = 0;
  };
  // The type of a Readable allows any chunk; without an encoding these are buffers.
  for await (const chunk of rows as AsyncIterable<Buffer>) {
    gathered.push(chunk);
    bytes += chunk.length;
    if (bytes >= CHUNK_BYTES) await flush();
  }
  await flush();
}

async function addText(pack: Pack, name: string, content: string): Promise<void> {
  await addEntry(pack, name, Buffer.from(content));
}

/** Resolves when the reader has consumed the entry: the backpressure on a database that is faster than the disk. */
function addEntry(pack: Pack, name: string, content: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const entry = pack.entry({ name, size: content.length }, (error) => {
      if (error) reject(error);
      else resolve();
    });
    entry.end(content);
  });
}
