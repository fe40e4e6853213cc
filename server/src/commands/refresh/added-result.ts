import { setImmediate as nextTurn } from "node:timers/promises";
import type { ResultColumn, SpooledResult } from "../../engines/arrow-result/spool-result.ts";
import type { RefreshedPartition } from "../../catalog/contract.ts";

const COLUMNS: readonly ResultColumn[] = [
  { name: "partition", type: "string" },
  { name: "location", type: "string" },
];

const ROWS_AT_ONCE = 1000;

/** The result of a refresh: a table of the added partitions, stored and read like the result of a query. */
export async function spoolAdded(
  folder: string,
  batches: AsyncIterable<readonly RefreshedPartition[]>,
): Promise<SpooledResult | undefined> {
  // Loaded with the first result, to save memory of idle servers.
  const [{ Table, tableToIPC, Utf8, vectorFromArray }, { createSpool }] = await Promise.all([
    import("apache-arrow"),
    import("../../engines/arrow-result/spool-writer.ts"),
  ]);
  const texts = (values: readonly string[]) => vectorFromArray(values, new Utf8());
  const spool = await createSpool({ folder, statement: 0 });
  let rows = 0;
  let isFinished = false;
  const append = async (batch: readonly RefreshedPartition[]): Promise<void> => {
    const table = new Table({
      partition: texts(batch.map(({ name }) => name)),
      location: texts(batch.map(({ location }) => location)),
    });
    const data = tableToIPC(table, "stream");
    await spool.append({ data, rowCount: batch.length, startRow: rows, part: 0, parts: 1, position: `row-${rows}` });
    rows += batch.length;
  };
  try {
    await append([]); // so that it has columns even if nothing was added
    for await (const batch of batches) {
      for (let from = 0; from < batch.length; from += ROWS_AT_ONCE) {
        await append(batch.slice(from, from + ROWS_AT_ONCE));
        await nextTurn(); // encoding blocks the event loop
      }
    }
    const result = await spool.finish(COLUMNS);
    isFinished = true;
    return result;
  } finally {
    if (!isFinished) await spool.close();
  }
}
