import { setImmediate as nextTurn } from "node:timers/promises";
import { outputUri } from "./destination.ts";
import type { CopiedSource } from "./finished-outputs.ts";
import type { ReportLine } from "./report.ts";
import { sortRecords, type RecordSorter } from "./sorted-file/record-sorter.ts";

export interface ReportCopiedOptions {
  readonly dest: string;
  readonly scratchFolder: string;
  readonly signal: AbortSignal;
  readonly report: (lines: readonly ReportLine[]) => void;
}

/** Rows that are reported together. Timers run in between: progress is reported, and a cancelled copy ends. */
const ROW_BATCH = 1000;

/** Reports the copied files, sorted by source, so that results are reproducible. Returns their number. */
export async function reportCopied(
  copied: AsyncIterable<CopiedSource>,
  { dest, scratchFolder, signal, report }: ReportCopiedOptions,
): Promise<number> {
  const sorted = await sortBySource(copied, scratchFolder, signal);
  try {
    let lines: ReportLine[] = [];
    for (const cursor = sorted.cursor(); cursor.advance();) {
      const { key: source, value } = cursor;
      const space = value.indexOf(" ");
      const bytes = Number(value.slice(0, space));
      lines.push({ copied: [source, outputUri(dest, value.slice(space + 1)), bytes] });
      if (lines.length < ROW_BATCH) continue;
      report(lines);
      lines = [];
      await nextTurn();
      signal.throwIfAborted();
    }
    if (lines.length > 0) report(lines);
    return sorted.count;
  } finally {
    sorted.close();
  }
}

async function sortBySource(copied: AsyncIterable<CopiedSource>, folder: string, signal: AbortSignal) {
  const fill = async (sorter: RecordSorter): Promise<void> => {
    for await (const { source, output } of copied) sorter.add(source.uri, `${source.size} ${output}`);
  };
  return sortRecords(folder, fill, signal);
}
