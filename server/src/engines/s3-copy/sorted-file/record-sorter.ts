import { setImmediate as nextTurn } from "node:timers/promises";
import { mergeRuns, type Run } from "./merge-runs.ts";
import { HEADER_BYTES, RecordFile } from "./record-file.ts";
import { SortedRecords } from "./sorted-records.ts";

/** Small, because a million files should hardly need more memory than a thousand. */
const BLOCK_BYTES = 1024 * 1024;
const FIRST_BLOCK_BYTES = 16 * 1024;

/** Sorts the records that `fill` adds. */
export async function sortRecords(
  folder: string,
  fill: (sorter: RecordSorter) => Promise<void> | void,
  signal?: AbortSignal,
): Promise<SortedRecords> {
  const sorter = new RecordSorter(folder);
  try {
    await fill(sorter);
  } catch (error) {
    sorter.close();
    throw error;
  }
  return sorter.finish(signal);
}

/**
 * Sorts records by the bytes of their keys, in bounded memory: blocks are sorted and written as runs, which are merged at
 * the end. Records that arrive in order are only written. Records with equal keys keep their order.
 */
export class RecordSorter {
  readonly #folder: string;
  #file: RecordFile;
  readonly #runs: Run[] = [];
  readonly #largestBlock: number;
  #block: Buffer;
  #sorted: Buffer | undefined;
  #used = 0;
  /** The position of each record in the block. */
  #starts: number[] = [];
  #count = 0;
  #isInOrder = true;
  /** ASCII texts are compared faster than their bytes, with the same result. */
  #previousKey = "";
  #isPreviousAscii = true;
  /** The largest key that was written, as latin1. */
  #lastKey = "";

  constructor(folder: string, blockBytes = BLOCK_BYTES) {
    this.#folder = folder;
    this.#file = new RecordFile(folder);
    this.#largestBlock = blockBytes;
    this.#block = Buffer.allocUnsafeSlow(Math.min(FIRST_BLOCK_BYTES, blockBytes));
  }

  get count(): number {
    return this.#count;
  }

  add(key: string, value: string): void {
    const longest = HEADER_BYTES + 3 * (key.length + value.length);
    if (this.#used + longest > this.#block.length) this.#makeRoom(longest);
    const start = this.#used;
    const keyBytes = this.#block.write(key, start + HEADER_BYTES);
    const valueBytes = this.#block.write(value, start + HEADER_BYTES + keyBytes);
    this.#block.writeUInt32LE(keyBytes, start);
    this.#block.writeUInt32LE(valueBytes, start + 4);
    const isAscii = keyBytes === key.length;
    const previous = this.#starts.at(-1);
    if (this.#isInOrder && previous !== undefined) {
      const canCompareTexts = isAscii && this.#isPreviousAscii;
      this.#isInOrder = canCompareTexts ? this.#previousKey <= key : this.#compare(previous, start) <= 0;
    }
    this.#previousKey = key;
    this.#isPreviousAscii = isAscii;
    this.#starts.push(start);
    this.#used = start + HEADER_BYTES + keyBytes + valueBytes;
    this.#count += 1;
  }

  /** No record may be added afterwards. */
  async finish(signal?: AbortSignal): Promise<SortedRecords> {
    try {
      this.#writeBlock();
      this.#block = Buffer.alloc(0);
      this.#sorted = undefined;
      let runs: readonly Run[] = this.#runs;
      while (runs.length > 1) {
        const merged = new RecordFile(this.#folder);
        const unmerged = this.#file;
        this.#file = merged;
        try {
          runs = await mergeRuns(unmerged, runs, merged, signal);
        } finally {
          unmerged.close();
        }
        await nextTurn();
      }
      return new SortedRecords(this.#file, this.#count);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** For sorters that are not finished. */
  close(): void {
    this.#file.close();
  }

  /** The block grows step by step, so that small plans need little memory. */
  #makeRoom(bytes: number): void {
    if (this.#used + bytes > this.#largestBlock) this.#writeBlock();
    if (bytes > this.#largestBlock) throw new Error("a record of the plan is larger than a block");
    if (this.#used + bytes <= this.#block.length) return;
    const size = Math.min(this.#largestBlock, Math.max(this.#used + bytes, 2 * this.#block.length));
    const block = Buffer.allocUnsafeSlow(size);
    this.#block.copy(block, 0, 0, this.#used);
    this.#block = block;
  }

  #compare(one: number, two: number): number {
    const [oneKey, twoKey] = [one + HEADER_BYTES, two + HEADER_BYTES];
    return this.#block.compare(this.#block, twoKey, twoKey + this.#keyBytes(two), oneKey, oneKey + this.#keyBytes(one));
  }

  #keyBytes(start: number): number {
    return this.#block.readUInt32LE(start);
  }

  #keyAt(start: number): string {
    return this.#block.toString("latin1", start + HEADER_BYTES, start + HEADER_BYTES + this.#keyBytes(start));
  }

  #writeBlock(): void {
    const [first, last] = [this.#starts[0], this.#starts.at(-1)];
    if (first === undefined || last === undefined) return;
    const { firstKey, lastKey, bytes } = this.#isInOrder
      ? { firstKey: this.#keyAt(first), lastKey: this.#keyAt(last), bytes: this.#block.subarray(0, this.#used) }
      : this.#sortBlock();
    const start = this.#file.size;
    this.#file.append(bytes);
    const previous = this.#runs.at(-1);
    if (previous !== undefined && firstKey >= this.#lastKey) previous.end = this.#file.size;
    else this.#runs.push({ start, end: this.#file.size });
    this.#lastKey = lastKey;
    this.#starts = [];
    this.#used = 0;
    this.#isInOrder = true;
  }

  /** Sorts keys as latin1 texts: their order is that of the bytes, and comparing texts is faster than comparing buffers. */
  #sortBlock(): { firstKey: string; lastKey: string; bytes: Buffer } {
    const keys = this.#starts.map((start) => ({ start, key: this.#keyAt(start) }));
    keys.sort((a, b) => (a.key < b.key ? -1 : a.key === b.key ? a.start - b.start : 1));
    this.#sorted ??= Buffer.allocUnsafeSlow(this.#largestBlock); // reused, because freed memory returns to the system late
    let at = 0;
    for (const { start, key } of keys) {
      const end = start + HEADER_BYTES + key.length + this.#block.readUInt32LE(start + 4);
      at += this.#block.copy(this.#sorted, at, start, end);
    }
    return { firstKey: keys[0]?.key ?? "", lastKey: keys.at(-1)?.key ?? "", bytes: this.#sorted.subarray(0, at) };
  }
}
