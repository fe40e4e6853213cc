import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { decodeRecord, encodeRecord, RECORD_BYTES } from "./spool-index.ts";

/**
 * The result of a statement that has ended: two files, `result-<statement>.arrow`, an IPC stream that lacks only its end
 * mark, and `result-<statement>.index`. The index ends with what is told of the whole, so a result is either finished
 * or can be told from one.
 */
export interface SpooledResult {
  /** Its place in the script, from 0. */
  readonly statement: number;
  readonly rows: number;
  /** Of the index: the schema's, and one for each batch. */
  readonly records: number;
  /** As Arrow; as text it may be smaller or larger. */
  readonly bytes: number;
  readonly columns: readonly ResultColumn[];
  readonly dataFile: string;
  readonly indexFile: string;
}

/** `type` as Spark writes it in DDL. */
export interface ResultColumn {
  readonly name: string;
  readonly type: string;
}

export interface SpoolFiles {
  readonly dataFile: string;
  readonly indexFile: string;
}

export function spoolFiles(folder: string, statement: number): SpoolFiles {
  return {
    dataFile: join(folder, `result-${statement}.arrow`),
    indexFile: join(folder, `result-${statement}.index`),
  };
}

const FILE_NAME = /^result-(\d{1,9})\.(?:arrow|index)$/;
/** No stream has such a position. */
const ENDING = "#end";
const LONGEST_ENDING = 64 * 1024 * 1024;

type Told = Pick<SpooledResult, "rows" | "records" | "bytes" | "columns">;

/** The end of the index: JSON, then a record whose `end` says where the JSON begins. */
export function encodeEnding(told: Told): Buffer {
  const json = Buffer.from(JSON.stringify(told));
  const footer = encodeRecord({
    end: told.records * RECORD_BYTES,
    rows: told.rows,
    crc: crc32(json),
    position: ENDING,
  });
  return Buffer.concat([json, footer]);
}

/** The result of a script is that of its last statement that returned any. Undefined: none did. */
export async function findResult(folder: string): Promise<SpooledResult | undefined> {
  const statements = [...new Set((await spooledFiles(folder)).map(({ statement }) => statement))];
  for (const statement of statements.sort((a, b) => b - a)) {
    const files = spoolFiles(folder, statement);
    const told = await readEnding(files.indexFile);
    if (told !== undefined) return { statement, ...told, ...files };
  }
  return undefined;
}

/** Takes away what every other statement has left. */
export async function removeOthers(folder: string, statement: number): Promise<void> {
  const others = (await spooledFiles(folder)).filter((file) => file.statement !== statement);
  await Promise.all(others.map(({ path }) => rm(path, { force: true })));
}

async function spooledFiles(folder: string): Promise<{ path: string; statement: number }[]> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
  return names.flatMap((name) => {
    const [, statement] = FILE_NAME.exec(name) ?? [];
    return statement === undefined ? [] : [{ path: join(folder, name), statement: Number(statement) }];
  });
}

async function readEnding(indexFile: string): Promise<Told | undefined> {
  let handle;
  try {
    handle = await open(indexFile, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { size } = await handle.stat();
    const footerAt = size - RECORD_BYTES;
    if (footerAt < 0) return undefined;
    const footer = decodeRecord((await handle.read(Buffer.alloc(RECORD_BYTES), 0, RECORD_BYTES, footerAt)).buffer, 0);
    if (footer?.position !== ENDING || footer.end > footerAt || footerAt - footer.end > LONGEST_ENDING) {
      return undefined;
    }
    const json = Buffer.alloc(footerAt - footer.end);
    await handle.read(json, 0, json.length, footer.end);
    if (crc32(json) !== footer.crc) return undefined;
    return JSON.parse(json.toString("utf8")) as Told; // what encodeEnding wrote, by its check sum
  } finally {
    await handle.close();
  }
}
