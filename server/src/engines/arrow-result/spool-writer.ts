import { open, rm, type FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { flushFolder } from "../../lib/private-file.ts";
import { splitStream } from "./ipc-stream.ts";
import { encodeRecord, RECORD_BYTES, type SpoolRecord } from "./spool-index.ts";
import {
  encodeSummary,
  removeOtherResults,
  spoolFiles,
  type ResultColumn,
  type SpooledResult,
} from "./spool-result.ts";
import { recoverSpool, type RecoveredSpool } from "./recover-spool.ts";

/** A Spark Connect batch, which is a complete Arrow stream, or one part of a large batch. */
export interface ReceivedBatch {
  /** Must not change until the last part of the batch has been appended. */
  readonly data: Uint8Array;
  /** Rows of the whole batch. */
  readonly rowCount: number;
  /** Rows of the result before this batch. */
  readonly startRow: number;
  readonly part: number;
  readonly parts: number;
  /** Position in the stream, to resume after it. */
  readonly position: string;
}

export interface SyncedPoint {
  readonly position: string;
  readonly rows: number;
}

export interface SpoolTarget {
  readonly folder: string;
  /** The statement's number in the script, from 0. */
  readonly statement: number;
  /** Largest size of the result as Arrow. Unlimited if undefined. */
  readonly limitBytes?: number;
}

/** The result is larger than `limitBytes`. */
export class SpoolLimitError extends Error {
  override readonly name = "SpoolLimitError";
  readonly limitBytes: number;

  constructor(limitBytes: number) {
    super(`the result is larger than ${limitBytes} bytes`);
    this.limitBytes = limitBytes;
  }
}

/**
 * By default, Spark retains only the last 10 MiB that it sent: a stream cannot be resumed from an earlier position.
 */
const SYNC_BYTES = 4 * 1024 * 1024;
const UNSYNCED_LIMIT_BYTES = 2 * SYNC_BYTES;
const SYNC_AFTER_MS = 100;
/** Spark fills a batch up to 4 MiB, but puts at least one row into it. */
const MAX_BATCH_BYTES = 64 * 1024 * 1024;
/** Headgate requests parts of 2 MiB. */
const MAX_BATCH_PARTS = 1000;

/** Overwrites the files of an earlier run of the statement. */
export async function createSpool(target: SpoolTarget): Promise<SpoolWriter> {
  return SpoolWriter.open(target, undefined);
}

/** Continues after the last complete batch, or starts anew if there is none. */
export async function reopenSpool(target: SpoolTarget): Promise<SpoolWriter> {
  return SpoolWriter.open(
    target,
    await recoverSpool(spoolFiles(target.folder, target.statement), UNSYNCED_LIMIT_BYTES),
  );
}

/**
 * Writes the result of one statement to disk while it arrives. After a crash the reopened spool ends with the last batch
 * that is safely on disk, and the stream is resumed after that batch. Memory use does not depend on the result's size.
 */
export class SpoolWriter {
  readonly #target: SpoolTarget;
  readonly #data: FileHandle;
  readonly #index: FileHandle;
  #schema: Uint8Array | undefined;
  #columns = 0;
  #last: SpoolRecord | undefined;
  #synced: SpoolRecord | undefined;
  #indexEnd: number;
  #waiting: Buffer[] = [];
  #syncing: Promise<void> | undefined;
  #failure: unknown;
  #timer: NodeJS.Timeout | undefined;
  #isNew = true;
  #parts: Uint8Array[] = [];
  #partBytes = 0;

  private constructor(target: SpoolTarget, data: FileHandle, index: FileHandle, kept: RecoveredSpool | undefined) {
    this.#target = target;
    this.#data = data;
    this.#index = index;
    this.#last = kept?.last;
    this.#synced = kept?.last;
    this.#indexEnd = (kept?.records ?? 0) * RECORD_BYTES;
    if (kept === undefined) return;
    this.#schema = kept.schema;
    this.#columns = splitStream(kept.schema).columns;
  }

  static async open(target: SpoolTarget, kept: RecoveredSpool | undefined): Promise<SpoolWriter> {
    const { dataFile, indexFile } = spoolFiles(target.folder, target.statement);
    const flags = kept === undefined ? "w" : "r+";
    const opened: FileHandle[] = [];
    try {
      const data = await open(dataFile, flags, 0o600);
      opened.push(data);
      const index = await open(indexFile, flags, 0o600);
      opened.push(index);
      const writer = new SpoolWriter(target, data, index, kept);
      await data.truncate(kept?.last.end ?? 0);
      await index.truncate(writer.#indexEnd);
      return writer;
    } catch (error) {
      await Promise.all(opened.map((handle) => handle.close()));
      throw error;
    }
  }

  /** Must not be called concurrently. Waits while too many bytes are not synced; throws if any write so far failed. */
  async append(batch: ReceivedBatch): Promise<void> {
    this.#checkFailure();
    const stream = this.#joined(batch);
    if (stream !== undefined) await this.#appendStream(stream, batch);
  }

  async #appendStream(stream: Uint8Array, { rowCount, startRow, position }: ReceivedBatch): Promise<void> {
    const parts = splitStream(stream);
    const rows = this.#last?.rows ?? 0;
    if (parts.rows !== rowCount) throw new Error(`a batch declares ${rowCount} rows but has ${parts.rows}`);
    if (startRow !== rows) throw new Error(`a batch starts at row ${startRow} instead of row ${rows}`);
    if (this.#schema === undefined) {
      this.#schema = Buffer.from(parts.schema);
      this.#columns = parts.columns;
      await this.#put(parts.schema, 0, "");
    } else if (Buffer.compare(this.#schema, parts.schema) !== 0) {
      throw new Error("the schema changed within a result");
    }
    await this.#put(parts.batches, rowCount, position);
    const unsynced = this.#end() - (this.#synced?.end ?? 0);
    if (unsynced >= SYNC_BYTES) this.#startSync();
    else this.#timer ??= setTimeout(() => this.#startSync(), SYNC_AFTER_MS).unref();
    if (unsynced >= UNSYNCED_LIMIT_BYTES) await this.#syncing;
    this.#checkFailure();
  }

  /** Waits until everything appended so far is on disk. */
  async sync(): Promise<void> {
    while (this.#syncing !== undefined || this.#waiting.length > 0) {
      this.#startSync();
      await this.#syncing;
      this.#checkFailure();
    }
  }

  /** The point after which the stream is resumed after a crash; undefined: resume from the start. */
  lastSynced(): SyncedPoint | undefined {
    const { position = "", rows = 0 } = this.#synced ?? {};
    return position === "" ? undefined : { position, rows };
  }

  /**
   * Makes this the result of the script and removes the previous one. Returns undefined, and leaves the previous one, if
   * the statement has no columns, as with DDL.
   */
  async finish(columns: readonly ResultColumn[]): Promise<SpooledResult | undefined> {
    const { folder, statement } = this.#target;
    const files = spoolFiles(folder, statement);
    if (this.#columns === 0) {
      await this.close();
      await Promise.all([rm(files.dataFile, { force: true }), rm(files.indexFile, { force: true })]);
      return undefined;
    }
    this.#stopTimer();
    await this.#syncing;
    const records = this.#indexEnd / RECORD_BYTES + this.#waiting.length;
    const summary = { rows: this.#last?.rows ?? 0, records, bytes: this.#end(), columns };
    this.#waiting.push(encodeSummary(summary));
    await this.sync();
    await this.close();
    await removeOtherResults(folder, statement);
    return { statement, ...summary, ...files };
  }

  /** Closes the files without finishing the result; it can be reopened. */
  async close(): Promise<void> {
    this.#stopTimer();
    await this.#syncing;
    await Promise.all([this.#data.close(), this.#index.close()]);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #end(): number {
    return this.#last?.end ?? 0;
  }

  /** The whole batch, or undefined until its last part has arrived. */
  #joined({ data, part, parts }: ReceivedBatch): Uint8Array | undefined {
    if (part !== this.#parts.length) {
      throw new Error(`part ${part} of a batch arrived instead of part ${this.#parts.length}`);
    }
    if (parts === 1) return data;
    if (part >= MAX_BATCH_PARTS) throw new Error(`a batch has more than ${MAX_BATCH_PARTS} parts`);
    // A small part would keep the whole message that it came with in memory.
    this.#parts.push(2 * data.length < data.buffer.byteLength ? Buffer.from(data) : data);
    this.#partBytes += data.length;
    if (this.#partBytes > MAX_BATCH_BYTES)
      throw new Error(`a row of the result is larger than ${MAX_BATCH_BYTES} bytes`);
    if (part < parts - 1) return undefined;
    const whole = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#partBytes = 0;
    return whole;
  }

  async #put(bytes: Uint8Array, rows: number, position: string): Promise<void> {
    const { limitBytes = Infinity } = this.#target;
    if (this.#end() + bytes.length > limitBytes) throw new SpoolLimitError(limitBytes);
    const record = {
      end: this.#end() + bytes.length,
      rows: (this.#last?.rows ?? 0) + rows,
      crc: crc32(bytes),
      position,
    };
    const encoded = encodeRecord(record);
    await writeAll(this.#data, bytes, this.#end());
    this.#last = record;
    this.#waiting.push(encoded);
  }

  /** Starts a sync unless one is running. A failure is reported by the next call of `append`, `sync` or `finish`. */
  #startSync(): void {
    this.#stopTimer();
    if (this.#syncing !== undefined || this.#waiting.length === 0 || this.#failure !== undefined) return;
    this.#syncing = this.#syncOnce()
      .catch((error: unknown) => {
        this.#failure = error;
      })
      .finally(() => {
        this.#syncing = undefined;
      });
  }

  /** Syncs both files in parallel: the checksum detects a record whose data did not reach the disk. */
  async #syncOnce(): Promise<void> {
    const upTo = this.#last;
    const records = Buffer.concat(this.#waiting);
    this.#waiting = [];
    await writeAll(this.#index, records, this.#indexEnd);
    this.#indexEnd += records.length;
    await Promise.all([
      this.#data.datasync(),
      this.#index.datasync(),
      this.#isNew ? flushFolder(this.#target.folder) : undefined,
    ]);
    this.#isNew = false;
    this.#synced = upTo;
  }

  #checkFailure(): void {
    if (this.#failure !== undefined) throw new Error("the result cannot be written to disk", { cause: this.#failure });
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}
