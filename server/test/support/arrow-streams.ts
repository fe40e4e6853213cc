import { Schema, Table, tableToIPC, type Vector } from "apache-arrow";
import type { ReceivedBatch, SpoolWriter } from "../../src/engines/arrow-result/spool-writer.ts";

/** A complete Arrow stream, as in a response of Spark Connect. */
export function streamOf(columns: Record<string, Vector>): Uint8Array {
  return tableToIPC(new Table(columns), "stream");
}

/** A stream of a schema without columns, like the result of DDL. */
export function emptyStream(): Uint8Array {
  return tableToIPC(new Table(new Schema([])), "stream");
}

export interface GivenBatch {
  readonly data: Uint8Array;
  readonly rows: number;
}

/** The batches as received from a statement, each split into `parts` parts. */
export function received(batches: readonly GivenBatch[], parts = 1): ReceivedBatch[] {
  let startRow = 0;
  return batches.flatMap(({ data, rows }, number) => {
    const partBytes = Math.ceil(data.length / parts);
    const cut = Array.from({ length: parts }, (_, part) => ({
      data: data.subarray(part * partBytes, (part + 1) * partBytes),
      rowCount: rows,
      startRow,
      part,
      parts,
      position: `position-${number}-${part}`,
    }));
    startRow += rows;
    return cut;
  });
}

export async function appendAll(spool: SpoolWriter, batches: readonly ReceivedBatch[]): Promise<void> {
  for (const batch of batches) await spool.append(batch);
}
