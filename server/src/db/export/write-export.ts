import { existsSync } from "node:fs";
import type { Client, ClientConfig } from "pg";
import { to as copyTo } from "pg-copy-streams";
import { pack as packTar, type Pack } from "tar-stream";
import { Fault } from "../../lib/fault.ts";
import type { Secret } from "../../lib/secret.ts";
import { withOperatorLock } from "../operator-lock.ts";
import { chunkName, FORMAT, type Manifest } from "./manifest.ts";
import { writeSealedFile } from "./sealed-file.ts";
import { countRows, listSequences, listTables, PORTABLE_TEXT, type Table } from "./table-catalog.ts";

export interface ExportOptions {
  connection: ClientConfig;
  file: string;
  passphrase: Secret;
  /** Read when the snapshot stands: every key that the data is sealed with is in the file by then. */
  readKeyFile: () => string;
  productVersion: string;
  now: Date;
  progress: (line: string) => void;
}

/** A tar entry says its size first, so a table goes in pieces; what is in memory does not grow with the table. */
const CHUNK_BYTES = 4 * 1024 * 1024;

/** The whole installation as of one moment, in one file; the server may run meanwhile. */
export async function writeExport(options: ExportOptions): Promise<Manifest> {
  const { connection, file, passphrase } = options;
  if (existsSync(file)) throw new Fault("conflict", `${file} is there already: name another file.`);
  return withOperatorLock(connection, async (client) => {
    await client.query(PORTABLE_TEXT);
    await client.query("begin isolation level repeatable read read only");
    const manifest = await describe(client, options);
    const head = { "manifest.json": JSON.stringify(manifest, null, 1), keys: options.readKeyFile() };
    await writeSealedFile(file, passphrase, archive(client, head, manifest.tables, options.progress));
    return manifest;
  });
}

async function describe(client: Client, { productVersion, now }: ExportOptions): Promise<Manifest> {
  const { rows } = await client.query<{ migration: number }>("select max(number) as migration from schema_migration");
  const tables = await listTables(client);
  const counted: Manifest["tables"] = [];
  for (const table of tables) counted.push({ ...table, rows: await countRows(client, table.name) });
  return {
    format: FORMAT,
    product: productVersion,
    migration: rows[0]?.migration ?? 0,
    createdAt: now.toISOString(),
    tables: counted,
    sequences: await listSequences(client),
  };
}

/** The bytes of the tar. Made as they are asked for; what goes wrong in the making breaks them off. */
async function* archive(
  client: Client,
  head: Readonly<Record<string, string>>,
  tables: Manifest["tables"],
  progress: (line: string) => void,
): AsyncGenerator<Buffer, void, void> {
  const pack = packTar();
  const fill = async (): Promise<void> => {
    for (const [name, content] of Object.entries(head)) await addEntry(pack, name, Buffer.from(content));
    for (const table of tables) {
      await addTable(client, pack, table);
      progress(`${table.name}: ${table.rows} rows`);
    }
    pack.finalize();
  };
  const filled = fill();
  filled.catch((error: unknown) => pack.destroy(error instanceof Error ? error : new Error(String(error))));
  try {
    // The typing of a pack knows no iterator of buffers; without an encoding that is what it gives.
    yield* pack as AsyncIterable<Buffer>;
  } finally {
    pack.destroy();
    await filled;
  }
}

async function addTable(client: Client, pack: Pack, { name, columns }: Table): Promise<void> {
  const list = columns.map((column) => client.escapeIdentifier(column)).join(", ");
  const rows = client.query(copyTo(`copy ${client.escapeIdentifier(name)} (${list}) to stdout`));
  let number = 0;
  let gathered: Buffer[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (bytes === 0) return;
    number += 1;
    await addEntry(pack, chunkName(name, number), Buffer.concat(gathered));
    gathered = [];
    bytes = 0;
  };
  // A Readable gives chunks of any type; without an encoding these are buffers.
  for await (const chunk of rows as AsyncIterable<Buffer>) {
    gathered.push(chunk);
    bytes += chunk.length;
    if (bytes >= CHUNK_BYTES) await flush();
  }
  await flush();
}

/** Settles when the reader has taken the entry: that is the brake on a database faster than the disk. */
function addEntry(pack: Pack, name: string, content: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const entry = pack.entry({ name, size: content.length }, (error) => {
      if (error) reject(error);
      else resolve();
    });
    entry.end(content);
  });
}
