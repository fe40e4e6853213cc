import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { extract as extractTar } from "tar-stream";
import { Fault } from "../../lib/fault.ts";
import { parseKeys } from "../../lib/key-file.ts";
import type { Key } from "../../lib/key-ring.ts";
import type { Secret } from "../../lib/secret.ts";
import { chunkName, isChunk, parseManifest, type Manifest } from "./manifest.ts";
import { damaged, openSealedFile, readSealedFile, type Opening } from "./sealed-file.ts";

export interface VerifiedExport {
  opening: Opening;
  manifest: Manifest;
  keys: Key[];
}

interface Entry {
  name: string;
  body: AsyncIterable<Buffer>;
}

/**
 * Reads the whole file once before anything is made of it: the passphrase, every checksum, the manifest, and that each
 * table has the rows the manifest tells of. After this a load can fail only for reasons of the target.
 */
export async function verifyExport(file: string, passphrase: Secret, knownMigration: number): Promise<VerifiedExport> {
  return verifyOpened(await openSealedFile(file, passphrase), knownMigration);
}

export async function verifyOpened(opening: Opening, knownMigration: number): Promise<VerifiedExport> {
  const { file } = opening;
  const entries = readEntries(opening);
  const manifest = parseManifest(await nextText(entries, "manifest.json", file), knownMigration);
  const keys = parseKeys(await nextText(entries, "keys", file), `the key file in ${file}`);
  const rows = new Map(manifest.tables.map(({ name }) => [name, 0]));
  const order = manifest.tables.values();
  let table = order.next().value?.name;
  let number = 0;
  for await (const { name, body } of entries) {
    while (table !== undefined && name !== chunkName(table, number + 1)) {
      table = order.next().value?.name;
      number = 0;
    }
    if (table === undefined) throw damaged(file, new Error(`unexpected entry ${name}`));
    number += 1;
    rows.set(table, (rows.get(table) ?? 0) + (await countLines(body)));
  }
  const short = manifest.tables.find(({ name, rows: told }) => rows.get(name) !== told);
  if (short !== undefined)
    throw damaged(file, new Error(`${short.name} has ${rows.get(short.name)} of ${short.rows} rows`));
  return { opening, manifest, keys };
}

/** The rows of one table after the other, asked for in the order of the manifest. */
export function tableReader(opening: Opening): (table: string) => AsyncGenerator<Buffer, void, void> {
  const entries = readEntries(opening);
  const next = async (): Promise<Entry | undefined> => (await entries.next()).value ?? undefined;
  const firstChunk = async (): Promise<Entry | undefined> => {
    let head = await next();
    while (head !== undefined && !isChunk(head.name)) {
      await text(head.body);
      head = await next();
    }
    return head;
  };
  let waiting: Promise<Entry | undefined> | undefined;
  return async function* chunks(table) {
    let entry = await (waiting ?? firstChunk());
    while (entry !== undefined && isChunk(entry.name, table)) {
      yield* entry.body;
      entry = await next();
    }
    waiting = Promise.resolve(entry);
  };
}

/** The entries in their order; each body must be read before the next entry is asked for. */
async function* readEntries(opening: Opening): AsyncGenerator<Entry, void, void> {
  const { file } = opening;
  const tar = extractTar();
  const fed = pipeline(await readSealedFile(opening), tar);
  fed.catch(() => undefined); // what breaks the feed ends the loop below with the same error
  try {
    for await (const entry of tar) {
      // Its typing knows no iterator of buffers; without an encoding that is what it gives.
      yield { name: entry.header.name, body: translated(entry as AsyncIterable<Buffer>, file) };
    }
    await fed;
  } catch (error) {
    throw error instanceof Fault ? error : damaged(file, error);
  } finally {
    tar.destroy();
  }
}

async function* translated(body: AsyncIterable<Buffer>, file: string): AsyncGenerator<Buffer, void, void> {
  try {
    yield* body;
  } catch (error) {
    throw damaged(file, error);
  }
}

async function nextText(entries: AsyncGenerator<Entry, void, void>, name: string, file: string): Promise<string> {
  const { value: entry } = await entries.next();
  if (entry === undefined || entry.name !== name) {
    throw new Fault("invalid", `${file} opens, but is no export of Headgate: ${name} is not where it should be.`);
  }
  return text(entry.body);
}

/** A row of COPY text is a line: a line break inside a value is written as \n. */
async function countLines(body: AsyncIterable<Buffer>): Promise<number> {
  let lines = 0;
  for await (const chunk of body) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
  }
  return lines;
}
