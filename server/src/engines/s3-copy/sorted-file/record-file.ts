import { randomUUID } from "node:crypto";
import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";

/** A record has the lengths of its key and its value, then both. */
export const HEADER_BYTES = 8;
const CURSOR_BYTES = 32 * 1024;

/**
 * A file of records that has no name: the system frees its space when the process ends, however it ends. Reads and
 * writes are synchronous, because most of them only reach the page cache, and a thread for each would cost more.
 */
export class RecordFile {
  readonly #descriptor: number;
  #size = 0;
  #isOpen = true;

  constructor(folder: string) {
    const path = join(folder, `plan-${randomUUID()}`);
    this.#descriptor = openSync(path, "wx+", 0o600);
    unlinkSync(path);
  }

  get size(): number {
    return this.#size;
  }

  append(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;)
      at += writeSync(this.#descriptor, bytes, at, bytes.length - at, this.#size + at);
    this.#size += bytes.length;
  }

  /** Fills the buffer as far as there are bytes before `end`. Returns their number. */
  read(into: Buffer, position: number, end: number): number {
    const wanted = Math.min(into.length, end - position);
    let bytes = 0;
    while (bytes < wanted) {
      const read = readSync(this.#descriptor, into, bytes, wanted - bytes, position + bytes);
      if (read === 0) throw new Error("a file of the plan is shorter than it was written");
      bytes += read;
    }
    return bytes;
  }

  close(): void {
    if (this.#isOpen) closeSync(this.#descriptor);
    this.#isOpen = false;
  }
}

/** Reads the records between two positions of a file one after the other. */
export class RecordCursor {
  readonly #file: RecordFile;
  readonly #end: number;
  #buffer: Buffer;
  /** The position in the file of the buffer's first byte. */
  #base: number;
  #filled = 0;
  /** Positions of the current record in the buffer. */
  #start = 0;
  #keyEnd = 0;
  #next = 0;

  constructor(file: RecordFile, start: number, end: number, bufferBytes = CURSOR_BYTES) {
    this.#file = file;
    this.#base = start;
    this.#end = end;
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(bufferBytes, Math.max(HEADER_BYTES, end - start)));
  }

  /** Moves to the next record. False: there is none. */
  advance(): boolean {
    this.#start = this.#next;
    if (this.#base + this.#start >= this.#end) return false;
    this.#need(HEADER_BYTES);
    const keyBytes = this.#buffer.readUInt32LE(this.#start);
    const bytes = HEADER_BYTES + keyBytes + this.#buffer.readUInt32LE(this.#start + 4);
    this.#need(bytes);
    this.#keyEnd = this.#start + HEADER_BYTES + keyBytes;
    this.#next = this.#start + bytes;
    return true;
  }

  /** The position of the current record in the file. */
  get offset(): number {
    return this.#base + this.#start;
  }

  get key(): string {
    return this.#buffer.toString("utf8", this.#start + HEADER_BYTES, this.#keyEnd);
  }

  get value(): string {
    return this.#buffer.toString("utf8", this.#keyEnd, this.#next);
  }

  /** The whole record, until the next `advance`. */
  get bytes(): Buffer {
    return this.#buffer.subarray(this.#start, this.#next);
  }

  /** Compares the keys of the current records. */
  compare(other: RecordCursor): number {
    return this.#buffer.compare(
      other.#buffer,
      other.#start + HEADER_BYTES,
      other.#keyEnd,
      this.#start + HEADER_BYTES,
      this.#keyEnd,
    );
  }

  /** Makes sure that the buffer holds this many bytes from the start of the record. */
  #need(bytes: number): void {
    if (this.#filled - this.#start >= bytes) return;
    const kept = this.#buffer.subarray(this.#start, this.#filled);
    const buffer = bytes > this.#buffer.length ? Buffer.allocUnsafeSlow(bytes) : this.#buffer;
    kept.copy(buffer);
    this.#buffer = buffer;
    this.#base += this.#start;
    this.#start = 0;
    const rest = buffer.subarray(kept.length);
    this.#filled = kept.length + this.#file.read(rest, this.#base + kept.length, this.#end);
    if (this.#filled < bytes) throw new Error("a record of the plan is cut off");
  }
}
