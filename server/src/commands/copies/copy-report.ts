/**
 * The report of a copy's process: JSON lines on its standard output, which its runner stores in the attempt's folder. It
 * grows with the number of files, so it is read in pieces, and only its last lines are kept after the attempt.
 */
import { rename, writeFile } from "node:fs/promises";
import { type CopyEnd, type CopyProgress, formatReportLine, parseReportLine } from "../../engines/s3-copy/report.ts";
import { readJsonLines } from "../../lib/json-lines.ts";
import { openPlainFile, readTail } from "../../lib/plain-file.ts";

export interface CopyState {
  readonly progress?: CopyProgress | undefined;
  /** Absent: the process still runs, or was killed. */
  readonly end?: CopyEnd | undefined;
}

/** The process may report many rows in the second between two lines of progress. */
const TAILS_BYTES = [16 * 1024, 4 * 1024 * 1024];

export async function readCopyState(report: string): Promise<CopyState> {
  let state: CopyState = {};
  for (const bytes of TAILS_BYTES) {
    state = lastState(await readTail(report, bytes));
    if (state.progress !== undefined) break;
  }
  return state;
}

function lastState(text: string): CopyState {
  let end: CopyEnd | undefined;
  for (const line of text.split("\n").toReversed()) {
    if (!line.startsWith('{"progress"') && !line.startsWith('{"end"')) continue;
    const parsed = parseReportLine(line);
    if (parsed === undefined) continue;
    if ("end" in parsed) end ??= parsed.end;
    if ("progress" in parsed) return { progress: parsed.progress, end };
  }
  return { end };
}

export interface CopiedFile {
  readonly source: string;
  readonly destination: string;
  readonly bytes: number;
}

const ROW_BATCH = 1000;
/** A line has two URIs. */
const MAX_LINE_BYTES = 1024 * 1024;

export async function* copiedFiles(report: string): AsyncGenerator<readonly CopiedFile[]> {
  const file = await openPlainFile(report);
  if (file === undefined) throw new Error("the report of a copy is missing");
  try {
    let batch: CopiedFile[] = [];
    for await (const { value } of readJsonLines(file.handle, MAX_LINE_BYTES)) {
      const { copied } = value as { copied?: readonly [string, string, number] }; // written by our own process
      if (copied === undefined) continue;
      const [source, destination, bytes] = copied;
      batch.push({ source, destination, bytes });
      if (batch.length < ROW_BATCH) continue;
      yield batch;
      batch = [];
    }
    yield batch;
  } finally {
    await file.handle.close();
  }
}

/** Keeps the last progress and the end. The rows are in the result table by now. */
export async function shortenReport(report: string): Promise<void> {
  const { progress, end } = await readCopyState(report);
  const lines = [
    ...(progress === undefined ? [] : [formatReportLine({ progress })]),
    ...(end === undefined ? [] : [formatReportLine({ end })]),
  ];
  await writeFile(`${report}.new`, lines.join(""), { mode: 0o600 });
  await rename(`${report}.new`, report);
}
