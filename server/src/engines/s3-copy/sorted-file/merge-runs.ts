import { setImmediate as nextTurn } from "node:timers/promises";
import { RecordCursor, type RecordFile } from "./record-file.ts";

/** A part of a file whose records are sorted. */
export interface Run {
  readonly start: number;
  end: number;
}

/** The buffers of this many runs take 4 MiB together. */
const FAN_IN = 256;
const CURSOR_BYTES = 16 * 1024;
const OUTPUT_BYTES = 256 * 1024;

/** Merges up to 256 neighbouring runs at a time into `into`. Returns the new runs. */
export async function mergeRuns(
  from: RecordFile,
  runs: readonly Run[],
  into: RecordFile,
  signal: AbortSignal | undefined,
): Promise<Run[]> {
  const merged: Run[] = [];
  for (let at = 0; at < runs.length; at += FAN_IN) {
    const start = into.size;
    await mergeOnce(from, runs.slice(at, at + FAN_IN), into, signal);
    merged.push({ start, end: into.size });
  }
  return merged;
}

async function mergeOnce(
  from: RecordFile,
  runs: readonly Run[],
  into: RecordFile,
  signal: AbortSignal | undefined,
): Promise<void> {
  const heap = new CursorHeap(runs.map(({ start, end }) => new RecordCursor(from, start, end, CURSOR_BYTES)));
  const output = Buffer.allocUnsafeSlow(OUTPUT_BYTES);
  let used = 0;
  for (let least = heap.least; least !== undefined; least = heap.least) {
    const { bytes } = least;
    if (used + bytes.length > output.length) {
      into.append(output.subarray(0, used));
      used = 0;
      signal?.throwIfAborted();
      await nextTurn();
    }
    if (bytes.length > output.length) into.append(bytes);
    else used += bytes.copy(output, used);
    heap.advance();
  }
  into.append(output.subarray(0, used));
}

/** Finds the cursor with the least key. If keys are equal, the first cursor wins, so that the merge is stable. */
class CursorHeap {
  readonly #cursors: { readonly cursor: RecordCursor; readonly rank: number }[];

  constructor(cursors: readonly RecordCursor[]) {
    this.#cursors = cursors.map((cursor, rank) => ({ cursor, rank })).filter(({ cursor }) => cursor.advance());
    for (let at = this.#cursors.length >> 1; at >= 0; at -= 1) this.#sink(at);
  }

  get least(): RecordCursor | undefined {
    return this.#cursors[0]?.cursor;
  }

  /** Moves the least cursor to its next record. */
  advance(): void {
    const last = this.#cursors.at(-1);
    if (this.#cursors[0]?.cursor.advance() === false && last !== undefined) {
      this.#cursors[0] = last;
      this.#cursors.pop();
    }
    this.#sink(0);
  }

  #sink(from: number): void {
    const cursors = this.#cursors;
    const sinking = cursors[from];
    if (sinking === undefined) return;
    let at = from;
    for (;;) {
      const child = this.#lesserChild(at);
      const moved = cursors[child];
      if (moved === undefined || !isLess(moved, sinking)) break;
      cursors[at] = moved;
      at = child;
    }
    cursors[at] = sinking;
  }

  #lesserChild(at: number): number {
    const left = 2 * at + 1;
    const [one, two] = [this.#cursors[left], this.#cursors[left + 1]];
    return one !== undefined && two !== undefined && isLess(two, one) ? left + 1 : left;
  }
}

type Ranked = Readonly<{ cursor: RecordCursor; rank: number }>;

function isLess(one: Ranked, two: Ranked): boolean {
  const order = one.cursor.compare(two.cursor);
  return order === 0 ? one.rank < two.rank : order < 0;
}
