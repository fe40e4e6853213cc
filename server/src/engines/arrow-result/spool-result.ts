/**
 * The result of a finished statement in two files: `result-<statement>.arrow`, an IPC stream without its end-of-stream
 * marker, and `result-<statement>.index`. The index ends with a summary, which an unfinished result does not have.
 */
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { decodeRecord, encodeRecord, RECORD_BYTES } from "./spool-index.ts";

export interface SpooledResult {
  /** The statement's number in the script, from 0. */
  readonly statement: number;
  readonly rows: number;
  /** Records in the index: one for the schema and one per batch. */
  readonly records: number;
  /** Size as Arrow; other formats may be smaller or larger. */
  readonly bytes: number;
  readonly columns: readonly ResultColumn[];
  readonly dataFile: string;
  readonly indexFile: string;
}

/** `type` is the name of the type in Spark's DDL. */
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
/** Marks the footer; Spark Connect never uses such a position. */
const FOOTER_POSITION = "#end";
const MAX_SUMMARY_BYTES = 64 * 1024 * 1024;

type ResultSummary = Pick<SpooledResult, "rows" | "records" | "bytes" | "columns">;

/** The end of the index: the summary as JSON, then a footer record whose `end` is the offset of the JSON. */
export function encodeSummary(summary: ResultSummary): Buffer {
  const json = Buffer.from(JSON.stringify(summary));
  const footer = encodeRecord({
    end: summary.records * RECORD_BYTES,
    rows: summary.rows,
    crc: crc32(json),
    position: FOOTER_POSITION,
  });
  return Buffer.concat([json, footer]);
}

/** The result of a script is the result of its last statement that returned one; undefined if none did. */
export async function findResult(folder: string): Promise<SpooledResult | undefined> {
  const statements = [...new Set((await spooledFiles(folder)).map(({ statement }) => statement))];
  for (const statement of statements.sort((a, b) => b - a)) {
    const files = spoolFiles(folder, statement);
    const summary = await readSummary(files.indexFile);
    if (summary !== undefined) return { statement, ...summary, ...files };
  }
  return undefined;
}

/** Removes the files of all other statements. */
export async function removeOtherResults(folder: string, statement: number): Promise<void> {
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

async function readSummary(indexFile: string): Promise<ResultSummary | undefined> {
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
    if (footer?.position !== FOOTER_POSITION || footer.end > footerAt || footerAt - footer.end > MAX_SUMMARY_BYTES) {
      return undefined;
    }
    const json = Buffer.alloc(footerAt - footer.end);
    await handle.read(json, 0, json.length, footer.end);
    if (crc32(json) !== footer.crc) return undefined;
    return JSON.parse(json.toString("utf8")) as ResultSummary; // encodeSummary wrote it: the checksum matches
  } finally {
    await handle.close();
  }
}
