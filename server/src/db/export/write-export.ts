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
    const pack = packTar();
    // The typing of a pack knows no iterator of buffers; without an encoding that is what it gives.
    const written = writeSealedFile(file, passphrase, pack as AsyncIterable<Buffer>);
    const [produced, outcome] = await Promise.allSettled([produce(client, pack, manifest, options), written]);
    if (produced.status === "rejected") throw produced.reason;
    if (outcome.status === "rejected") throw outcome.reason;
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

async function produce(client: Client, pack: Pack, manifest: Manifest, options: ExportOptions): Promise<void> {
  try {
    await addEntry(pack, "manifest.json", Buffer.from(JSON.stringify(manifest, null, 1)));
    await addEntry(pack, "keys", Buffer.from(options.readKeyFile()));
    for (const table of manifest.tables) {
      await addTable(client, pack, table);
      options.progress(`${table.name}: ${table.rows} rows`);
    }
    pack.finalize();
  } catch (error) {
    pack.destroy(error instanceof Error ? error : new Error(String(error)));
    throw error;
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
