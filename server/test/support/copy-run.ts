import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { CopyAccount, CopyRequest } from "../../src/engines/s3-copy/copy-request.ts";
import { parseReportLine, type CopyEnd, type CopyProgress, type ReportLine } from "../../src/engines/s3-copy/report.ts";
import { runCopy, type CopyLimits } from "../../src/engines/s3-copy/run-copy.ts";
import { splitWords } from "../../src/lib/shell-words.ts";
import type { SeaweedFs } from "../seaweedfs/seaweedfs.ts";

export interface CopyRun {
  readonly end: CopyEnd;
  readonly log: readonly string[];
  /** Source, destination and bytes of each copied file, sorted. */
  readonly copied: readonly (readonly [string, string, number])[];
  readonly progress: readonly CopyProgress[];
  readonly percents: readonly number[];
}

export interface CopyOf {
  readonly account?: Partial<CopyAccount>;
  /** Runs with the same name are attempts of one command: they share a journal. */
  readonly command?: string;
  readonly bufferMiB?: number;
  readonly allowedNetworks?: readonly string[];
  readonly signal?: AbortSignal;
  /** A new folder by default. */
  readonly scratchFolder?: string;
  readonly limits?: CopyLimits;
}

export interface CopyBench {
  /** The folder of `file:` URIs. */
  readonly files: string;
  /** Runs a copy in this process. */
  run(args: string, options?: CopyOf): Promise<CopyRun>;
  request(args: string, options?: CopyOf): CopyRequest;
}

/** Copies with the engine alone, without a server. */
export function useCopies(s3: () => Pick<SeaweedFs, "endpoint" | "region" | "credentials">): CopyBench {
  const base = mkdtempSync(join(tmpdir(), "headgate-copy-"));
  const files = join(base, "files");
  mkdirSync(files);
  afterAll(() => rmSync(base, { recursive: true, force: true }));
  let count = 0;
  const request = (args: string, options: CopyOf = {}): CopyRequest => {
    const { account = {}, command, bufferMiB = 128, allowedNetworks = ["127.0.0.0/8"] } = options;
    count += 1;
    const { scratchFolder = join(base, `scratch-${count}`) } = options;
    mkdirSync(scratchFolder, { recursive: true });
    const { endpoint, region, credentials } = s3();
    return {
      words: splitWords(args, "args"),
      account: {
        s3: { endpoint, region, credentials },
        hdfs: null,
        location: `file://${files}`,
        fileRoot: files,
        ...account,
      },
      allowedNetworks,
      journalFolder: join(base, `journal-${command ?? count}`),
      scratchFolder,
      bufferMiB,
    };
  };
  return {
    files,
    request,
    async run(args, options = {}) {
      const lines: ReportLine[] = [];
      const log: string[] = [];
      const channels = {
        report: (text: string) => lines.push(...text.trimEnd().split("\n").map(lineOf)),
        log: (line: string) => log.push(line),
        signal: options.signal ?? new AbortController().signal,
      };
      const end = await runCopy(request(args, options), channels, options.limits);
      const copied = lines.flatMap((line) => ("copied" in line ? [line.copied] : []));
      const progress = lines.flatMap((line) => ("progress" in line ? [line.progress] : []));
      const percents = progress.map(({ percent }) => percent);
      return { end, log, progress, percents, copied: copied.toSorted((one, other) => (one[0] < other[0] ? -1 : 1)) };
    },
  };
}

function lineOf(text: string): ReportLine {
  const line = parseReportLine(text);
  if (line === undefined) throw new Error(`not a line of a report: ${text}`);
  return line;
}
