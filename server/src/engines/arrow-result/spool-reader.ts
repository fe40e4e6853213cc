import { closeSync, openSync, readSync } from "node:fs";
import { crc32 } from "node:zlib";
import { decodeRecord, RECORD_BYTES, type SpoolRecord } from "./spool-index.ts";
import type { SpooledResult } from "./spool-result.ts";

export type SpoolToRead = Pick<SpooledResult, "dataFile" | "indexFile" | "rows" | "records">;

const BLOCK_RECORDS = 256;

/**
 * Random access to a finished spool. Synchronous, because it runs in a render thread. Holds one block of the index in
 * memory, whatever the size of the result.
 */
export class SpoolReader {
  readonly rows: number;
  readonly records: number;
  readonly #data: number;
  readonly #index: number;
  readonly #block = Buffer.alloc(BLOCK_RECORDS * RECORD_BYTES);
  #blockNumber = -1;

  constructor({ dataFile, indexFile, rows, records }: SpoolToRead) {
    this.rows = rows;
    this.records = records;
    this.#data = openSync(dataFile, "r");
    try {
      this.#index = openSync(indexFile, "r");
    } catch (error) {
      closeSync(this.#data);
      throw error;
    }
  }

  close(): void {
    closeSync(this.#data);
    closeSync(this.#index);
  }

  /** Record 0 is the schema; the last record ends with the data. */
  record(number: number): SpoolRecord {
    const blockNumber = Math.floor(number / BLOCK_RECORDS);
    if (blockNumber !== this.#blockNumber) {
      this.#blockNumber = -1;
      this.#block.fill(0);
      readSync(this.#index, this.#block, 0, this.#block.length, blockNumber * this.#block.length);
      this.#blockNumber = blockNumber;
    }
    const record = decodeRecord(this.#block, (number % BLOCK_RECORDS) * RECORD_BYTES);
    if (record === undefined) throw new Error(`the index of the result is damaged at record ${number}`);
    return record;
  }

  /** Reads the bytes of a record, into `into` if they fit. */
  read(number: number, into?: Buffer): Buffer {
    const start = number === 0 ? 0 : this.record(number - 1).end;
    const { end, crc } = this.record(number);
    const length = end - start;
    const bytes =
      into !== undefined && into.length >= length ? into.subarray(0, length) : Buffer.allocUnsafeSlow(length);
    for (let done = 0; done < length;) {
      const count = readSync(this.#data, bytes, done, length - done, start + done);
      if (count === 0) throw new Error("the data file of the result is truncated");
      done += count;
    }
    if (crc32(bytes) !== crc) throw new Error(`the data file of the result is damaged before byte ${end}`);
    return bytes;
  }

  /** The record that holds a row, or `records` if the result has fewer rows. */
  recordOfRow(row: number): number {
    let [low, high] = [1, this.records];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.record(middle).rows > row) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
