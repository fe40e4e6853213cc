import { Int32, Utf8, vectorFromArray } from "apache-arrow";
import type { ReceivedBatch } from "../../src/engines/arrow-result/spool-writer.ts";
import { streamOf } from "./arrow-streams.ts";

export const NUMBERED_ROWS = 500;

const filler = "x".repeat(600);
const made = new Map<number, Uint8Array>();

/** The n-th batch of an endless result, about 300 KB. */
export function numberedBatch(number: number): ReceivedBatch {
  const startRow = number * NUMBERED_ROWS;
  const kind = number % 8;
  const data = made.get(kind) ?? dataOf(kind);
  made.set(kind, data);
  return { data, rowCount: NUMBERED_ROWS, startRow, part: 0, parts: 1, position: `position-${number}` };
}

function dataOf(kind: number): Uint8Array {
  const rows = Array.from({ length: NUMBERED_ROWS }, (_, i) => kind * NUMBERED_ROWS + i);
  return streamOf({
    n: vectorFromArray(rows, new Int32()),
    s: vectorFromArray(
      rows.map((n) => `${n} ${filler}`),
      new Utf8(),
    ),
  });
}
