import { open, type FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { decodeRecord, RECORD_BYTES, type SpoolRecord } from "./spool-index.ts";
import type { SpoolFiles } from "./spool-result.ts";

export interface RecoveredSpool {
  readonly records: number;
  readonly last: SpoolRecord;
  /** The schema message. */
  readonly schema: Buffer;
}

const BLOCK_RECORDS = 1024;
const PIECE_BYTES = 1024 * 1024;

/**
 * Finds the intact records of a spool after a crash: those whose bytes the data file has. Index and data are synced in
 * parallel, so the checksums of the newest data, from `unsyncedBytes` before the last batch, are verified too. Returns
 * undefined if not even the schema is intact.
 */
export async function recoverSpool(files: SpoolFiles, unsyncedBytes: number): Promise<RecoveredSpool | undefined> {
  const [index, data] = await Promise.all([openToRead(files.indexFile), openToRead(files.dataFile)]);
  try {
    if (index === undefined || data === undefined) return undefined;
    const count = await intactRecords(index, (await data.stat()).size);
    const kept = await verifiedRecords({ index, data }, count, unsyncedBytes);
    const [first, last] = [await recordAt(index, 0), await recordAt(index, kept - 1)];
    if (first === undefined || last === undefined) return undefined;
    const schema = Buffer.alloc(first.end);
    await data.read(schema, 0, schema.length, 0);
    return { records: kept, last, schema };
  } finally {
    await index?.close();
    await data?.close();
  }
}

async function openToRead(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Counts the records before the first that is damaged or whose bytes are missing. */
async function intactRecords(index: FileHandle, dataBytes: number): Promise<number> {
  const block = Buffer.alloc(BLOCK_RECORDS * RECORD_BYTES);
  let [count, end] = [0, 0];
  for (;;) {
    const { bytesRead } = await index.read(block, 0, block.length, count * RECORD_BYTES);
    const records = Math.floor(bytesRead / RECORD_BYTES);
    for (let i = 0; i < records; i++) {
      const record = decodeRecord(block, i * RECORD_BYTES);
      if (record === undefined || record.end < end || record.end > dataBytes) return count;
      // Only the schema has no position, and only the footer of a finished index has one that starts with #.
      if ((record.position === "") !== (count === 0) || record.position.startsWith("#")) return count;
      end = record.end;
      count += 1;
    }
    if (records < BLOCK_RECORDS) return count;
  }
}

async function verifiedRecords(
  { index, data }: { index: FileHandle; data: FileHandle },
  count: number,
  unsyncedBytes: number,
): Promise<number> {
  let [kept, from] = [count, Infinity];
  for (let i = count - 1; i >= 0; i--) {
    const [record, before] = [await recordAt(index, i), await recordAt(index, i - 1)];
    if (record === undefined) return 0;
    const start = before?.end ?? 0;
    if (from === Infinity) from = start - unsyncedBytes;
    if (record.end < from) break;
    if ((await checksum(data, start, record.end)) !== record.crc) kept = i;
  }
  return kept;
}

async function recordAt(index: FileHandle, number: number): Promise<SpoolRecord | undefined> {
  if (number < 0) return undefined;
  const { buffer } = await index.read(Buffer.alloc(RECORD_BYTES), 0, RECORD_BYTES, number * RECORD_BYTES);
  return decodeRecord(buffer, 0);
}

async function checksum(data: FileHandle, start: number, end: number): Promise<number> {
  const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - start));
  let sum = 0;
  for (let at = start; at < end;) {
    const { bytesRead } = await data.read(piece, 0, Math.min(piece.length, end - at), at);
    if (bytesRead === 0) return -1;
    sum = crc32(piece.subarray(0, bytesRead), sum);
    at += bytesRead;
  }
  return sum;
}
