import { open, rm, type FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { flushFolder } from "../../lib/flush-folder.ts";
import { cutStream } from "./ipc-stream.ts";
import { encodeRecord, RECORD_BYTES, type SpoolRecord } from "./spool-index.ts";
import { encodeEnding, removeOthers, spoolFiles, type ResultColumn, type SpooledResult } from "./spool-result.ts";
import { wholePart, type WholePart } from "./whole-part.ts";

/** A batch of Spark Connect, or a part of a large one: a whole Arrow stream, or the parts of it one behind the other. */
export interface ReceivedBatch {
  /** Left as it is until the batch is whole and `append` has settled. */
  readonly data: Uint8Array;
  /** Of the whole batch. */
  readonly rowCount: number;
  /** Rows of the result before it. */
  readonly startRow: number;
  readonly part: number;
  readonly parts: number;
  /** Where it stands in the stream. */
  readonly position: string;
}

export interface SyncedPoint {
  readonly position: string;
  readonly rows: number;
}

export interface SpoolPlace {
  readonly folder: string;
  /** The statement's place in the script, from 0. */
  readonly statement: number;
  /** How large the result may be, as Arrow. Undefined: no limit. */
  readonly limitBytes?: number;
}

/** The result is larger than its place allows. */
export class SpoolLimitError extends Error {
  override readonly name = "SpoolLimitError";
  readonly limitBytes: number;

  constructor(limitBytes: number) {
    super(`the result is larger than ${limitBytes} bytes`);
    this.limitBytes = limitBytes;
  }
}

/**
 * Spark keeps only the last 10 MiB that it has sent, unless told otherwise: a stream cannot be taken up again from
 * before them.
 */
const SYNC_BYTES = 4 * 1024 * 1024;
const UNSYNCED_LIMIT_BYTES = 2 * SYNC_BYTES;
const SYNC_AFTER_MS = 100;
/** Spark puts as many rows into a batch as 4 MiB hold, one at least. */
const LARGEST_BATCH_BYTES = 64 * 1024 * 1024;

/** What an earlier run of the statement left is thrown away. */
export async function createSpool(place: SpoolPlace): Promise<SpoolWriter> {
  return SpoolWriter.open(place, undefined);
}

/** Goes on where a crash has ended it; as new when nothing of it is whole. */
export async function reopenSpool(place: SpoolPlace): Promise<SpoolWriter> {
  return SpoolWriter.open(place, await wholePart(spoolFiles(place.folder, place.statement), UNSYNCED_LIMIT_BYTES));
}

/**
 * Takes the result of one statement to the disk while it arrives. After a crash the reopened spool ends behind the last
 * batch that was surely on the disk, and the stream is taken up again right behind that one. Nothing held here grows
 * with the result.
 */
export class SpoolWriter {
  readonly #place: SpoolPlace;
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

  private constructor(place: SpoolPlace, data: FileHandle, index: FileHandle, kept: WholePart | undefined) {
    this.#place = place;
    this.#data = data;
    this.#index = index;
    this.#last = kept?.last;
    this.#synced = kept?.last;
    this.#indexEnd = (kept?.records ?? 0) * RECORD_BYTES;
    if (kept === undefined) return;
    this.#schema = kept.schema;
    this.#columns = cutStream(kept.schema).columns;
  }

  static async open(place: SpoolPlace, kept: WholePart | undefined): Promise<SpoolWriter> {
    const { dataFile, indexFile } = spoolFiles(place.folder, place.statement);
    const flags = kept === undefined ? "w" : "r+";
    const opened: FileHandle[] = [];
    try {
      const data = await open(dataFile, flags, 0o600);
      opened.push(data);
      const index = await open(indexFile, flags, 0o600);
      opened.push(index);
      const writer = new SpoolWriter(place, data, index, kept);
      await data.truncate(kept?.last.end ?? 0);
      await index.truncate(writer.#indexEnd);
      return writer;
    } catch (error) {
      await Promise.all(opened.map((handle) => handle.close()));
      throw error;
    }
  }

  /** One at a time. Waits while too much is not yet on the disk; fails when writing did, also earlier. */
  async append(batch: ReceivedBatch): Promise<void> {
    this.#checkFailure();
    const stream = this.#joined(batch);
    if (stream !== undefined) await this.#appendStream(stream, batch);
  }

  async #appendStream(stream: Uint8Array, { rowCount, startRow, position }: ReceivedBatch): Promise<void> {
    const parts = cutStream(stream);
    const rows = this.#last?.rows ?? 0;
    if (parts.rows !== rowCount) throw new Error(`a batch of ${rowCount} rows brought ${parts.rows}`);
    if (startRow !== rows) throw new Error(`a batch begins at row ${startRow}, behind ${rows} rows`);
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

  /** All that was appended is on the disk. */
  async sync(): Promise<void> {
    while (this.#syncing !== undefined || this.#waiting.length > 0) {
      this.#startSync();
      await this.#syncing;
      this.#checkFailure();
    }
  }

  /** Right behind it the stream is taken up again after a crash; undefined: at its beginning. */
  lastSynced(): SyncedPoint | undefined {
    const { position = "", rows = 0 } = this.#synced ?? {};
    return position === "" ? undefined : { position, rows };
  }

  /**
   * Makes it the result of the script and takes away the earlier one. Undefined: the statement returns no columns, as
   * DDL does; the earlier one stays.
   */
  async finish(columns: readonly ResultColumn[]): Promise<SpooledResult | undefined> {
    const { folder, statement } = this.#place;
    const files = spoolFiles(folder, statement);
    if (this.#columns === 0) {
      await this.close();
      await Promise.all([rm(files.dataFile, { force: true }), rm(files.indexFile, { force: true })]);
      return undefined;
    }
    this.#stopTimer();
    await this.#syncing;
    const records = this.#indexEnd / RECORD_BYTES + this.#waiting.length;
    const told = { rows: this.#last?.rows ?? 0, records, bytes: this.#end(), columns };
    this.#waiting.push(encodeEnding(told));
    await this.sync();
    await this.close();
    await removeOthers(folder, statement);
    return { statement, ...told, ...files };
  }

  /** Leaves it to be reopened. */
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

  /** The whole batch once its last part is there. */
  #joined({ data, part, parts }: ReceivedBatch): Uint8Array | undefined {
    if (part !== this.#parts.length) throw new Error(`part ${part} of a batch came behind ${this.#parts.length} parts`);
    if (parts === 1) return data;
    this.#parts.push(data);
    this.#partBytes += data.length;
    if (this.#partBytes > LARGEST_BATCH_BYTES) throw new Error("a row of the result is too large");
    if (part < parts - 1) return undefined;
    const whole = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#partBytes = 0;
    return whole;
  }

  async #put(bytes: Uint8Array, rows: number, position: string): Promise<void> {
    const { limitBytes = Infinity } = this.#place;
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

  /** One at a time; what comes meanwhile waits for the next. Never rejects: whoever comes next is told. */
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

  /** Both files at once: a record whose bytes did not come through is found by its check sum. */
  async #syncOnce(): Promise<void> {
    const upTo = this.#last;
    const records = Buffer.concat(this.#waiting);
    this.#waiting = [];
    await writeAll(this.#index, records, this.#indexEnd);
    this.#indexEnd += records.length;
    await Promise.all([
      this.#data.datasync(),
      this.#index.datasync(),
      this.#isNew ? flushFolder(this.#place.folder) : undefined,
    ]);
    this.#isNew = false;
    this.#synced = upTo;
  }

  #checkFailure(): void {
    if (this.#failure !== undefined) throw new Error("a result cannot be written", { cause: this.#failure });
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}
