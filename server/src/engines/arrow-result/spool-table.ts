import { setImmediate as nextTurn } from "node:timers/promises";
import type { Vector } from "apache-arrow";
import type { SpooledResult } from "./spool-result.ts";

/** `type` is the name of the type in Spark's DDL. */
export type TableColumn<Row> =
  | { readonly name: string; readonly type: "string"; readonly valueOf: (row: Row) => string }
  | { readonly name: string; readonly type: "bigint"; readonly valueOf: (row: Row) => number };

const ROW_BATCH = 1000;

/**
 * Stores rows of our own as a result that is read like the result of a query. Memory use does not depend on the number of
 * rows. When `signal` is aborted, it rejects and leaves an unfinished result, which counts as none.
 */
export async function spoolTable<Row>(
  folder: string,
  columns: readonly TableColumn<Row>[],
  batches: AsyncIterable<readonly Row[]>,
  signal?: AbortSignal,
): Promise<SpooledResult | undefined> {
  // Loaded with the first result, to save memory of idle servers.
  const [{ Table, tableToIPC, vectorOf }, { createSpool }] = await Promise.all([
    loadArrow(),
    import("./spool-writer.ts"),
  ]);
  const spool = await createSpool({ folder, statement: 0 });
  let rows = 0;
  let isFinished = false;
  const append = async (batch: readonly Row[]): Promise<void> => {
    const vectors = columns.map((column) => [column.name, vectorOf(column, batch)] as const);
    const data = tableToIPC(new Table(Object.fromEntries(vectors)), "stream");
    await spool.append({ data, rowCount: batch.length, startRow: rows, part: 0, parts: 1, position: `row-${rows}` });
    rows += batch.length;
  };
  try {
    await append([]); // so that it has columns even if there are no rows
    for await (const batch of batches) {
      for (let from = 0; from < batch.length; from += ROW_BATCH) {
        signal?.throwIfAborted();
        await append(batch.slice(from, from + ROW_BATCH));
        await nextTurn(); // encoding blocks the event loop
      }
    }
    const result = await spool.finish(columns.map(({ name, type }) => ({ name, type })));
    isFinished = true;
    return result;
  } finally {
    if (!isFinished) await spool.close();
  }
}

async function loadArrow() {
  const { Int64, Table, tableToIPC, Utf8, vectorFromArray } = await import("apache-arrow");
  const vectorOf = <Row>(column: TableColumn<Row>, rows: readonly Row[]): Vector =>
    column.type === "string"
      ? vectorFromArray(rows.map(column.valueOf), new Utf8())
      : vectorFromArray(
          rows.map((row) => BigInt(column.valueOf(row))),
          new Int64(),
        );
  return { Table, tableToIPC, vectorOf };
}
