import { RecordCursor, type RecordFile } from "./record-file.ts";

/** A sorted file of records. It occupies disk space until it is closed. */
export class SortedRecords {
  readonly count: number;
  readonly #file: RecordFile;

  constructor(file: RecordFile, count: number) {
    this.#file = file;
    this.count = count;
  }

  /** Reads from the position of a record, or from the start. */
  cursor(offset = 0): RecordCursor {
    return new RecordCursor(this.#file, offset, this.#file.size);
  }

  close(): void {
    this.#file.close();
  }
}
