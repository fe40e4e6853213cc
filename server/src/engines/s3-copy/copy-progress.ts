import { formatReportLine, type CopyProgress, type ReportLine } from "./report.ts";

/** While the listing runs, its end is unknown, so no more than this share is reported. */
const LISTING_SHARE = 0.5;
const REPORT_MS = 1000;
const LOG_MS = 10_000;

/** Counts what was copied. Progress is measured in bytes and never falls. */
export class CopyMeter {
  readonly #write: (line: string) => void;
  readonly #log: (line: string) => void;
  readonly #startedMs = performance.now();
  readonly #retries: () => number;
  readonly #timers: NodeJS.Timeout[];
  #percent = 0;
  #isListed = false;
  files = 0;
  bytes = 0;
  totalFiles = 0;
  totalBytes = 0;
  /** Copied by earlier attempts; not among the numbers above. */
  earlierFiles = 0;
  earlierBytes = 0;

  constructor(write: (line: string) => void, log: (line: string) => void, retries: () => number) {
    this.#write = write;
    this.#log = log;
    this.#retries = retries;
    this.#timers = [
      setInterval(() => this.report({ progress: this.progress() }), REPORT_MS),
      setInterval(() => this.#log(this.summary()), LOG_MS),
    ];
  }

  /** Adds files that are to be copied. */
  plan(files: number, bytes: number): void {
    this.totalFiles += files;
    this.totalBytes += bytes;
  }

  /** Sets the numbers of files and bytes that earlier attempts have copied. */
  countEarlier(files: number, bytes: number): void {
    this.earlierFiles = files;
    this.earlierBytes = bytes;
  }

  /** Call it when all files are known. */
  endListing(): void {
    this.#isListed = true;
  }

  /** False if the copy ended before it knew any files: then its numbers say nothing. */
  get hasListed(): boolean {
    return this.#isListed || this.totalFiles > 0;
  }

  progress(): CopyProgress {
    const files = this.files + this.earlierFiles;
    const bytes = this.bytes + this.earlierBytes;
    const totalFiles = this.totalFiles + this.earlierFiles;
    const totalBytes = this.totalBytes + this.earlierBytes;
    const share = totalBytes === 0 ? files / Math.max(1, totalFiles) : bytes / totalBytes;
    const percent = Math.floor(Math.min(1, share) * (this.#isListed ? 99 : 99 * LISTING_SHARE));
    this.#percent = Math.max(this.#percent, percent);
    return { percent: this.#percent, files, totalFiles, bytes };
  }

  report(...lines: ReportLine[]): void {
    this.#write(lines.map(formatReportLine).join(""));
  }

  summary(): string {
    const seconds = (performance.now() - this.#startedMs) / 1000;
    const rate = `${bytesText(this.bytes / Math.max(seconds, 0.001))}/s`;
    const of = this.#isListed ? `of ${this.totalFiles}` : `of at least ${this.totalFiles}`;
    const retries = this.#retries();
    return `${this.files} ${of} files, ${bytesText(this.bytes)}, ${rate}, ${retries} repeated requests`;
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${UNITS[power]}`;
}
