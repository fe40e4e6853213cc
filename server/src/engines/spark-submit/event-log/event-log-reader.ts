import { closeSync, fstatSync, opendirSync, readSync, type Dir } from "node:fs";
import { dirname, join } from "node:path";
import { isNestedDeeper } from "../../../lib/json-depth.ts";
import { openPlainFileSync } from "../../../lib/plain-file.ts";
import { JobCounts, type SparkJob } from "./job-counts.ts";

/** A program controls the content of its log, so time, memory and size of reading are limited. */
export interface EventLogLimits {
  /** One call of `readMore` stops after this. */
  readonly turnBytes: number;
  readonly turnMs: number;
  /** Events with query plans can be huge. The relevant events are small, unless a job has very many stages. */
  readonly lineBytes: number;
  readonly lineDepth: number;
  /** More than real programs write; the rest is ignored. */
  readonly logBytes: number;
  /** For all turns together. */
  readonly totalMs: number;
}

export const eventLogLimits: EventLogLimits = {
  turnBytes: 8 * 1024 * 1024,
  turnMs: 100,
  lineBytes: 4 * 1024 * 1024,
  lineDepth: 64,
  logBytes: 1024 * 1024 * 1024,
  totalMs: 60_000,
};

const chunkBytes = 256 * 1024;
const newline = 0x0a;

const wanted = ["JobStart", "TaskEnd", "StageCompleted", "JobEnd"].map((name) => `{"Event":"SparkListener${name}"`);

/**
 * Follows the event log that Spark writes while a program runs: `<file>.inprogress`, renamed to `<file>` at the end. A
 * remote cluster gives applications names of its own. The reader then uses the log in the folder with such a name, the
 * last of several sessions (on Kubernetes any of them, because the names there have no order).
 *
 * Each call of `readMore` continues after the last whole line. It blocks, so it runs in a separate thread. No content
 * of the file makes it fail.
 */
export class EventLogReader {
  readonly #path: string;
  readonly #limits: EventLogLimits;
  readonly #counts = new JobCounts();
  #fileId = "";
  #offset = 0;
  /** The line at the offset is too long, so its rest is skipped. */
  #skipsLine = false;
  #spentMs = 0;

  constructor(path: string, limits: EventLogLimits = eventLogLimits) {
    this.#path = path;
    this.#limits = limits;
  }

  get progress(): number {
    return this.#counts.progress;
  }

  get jobs(): SparkJob[] {
    return this.#counts.jobs;
  }

  /** Continues reading for one turn. True: there is nothing more to read now. */
  readMore(): boolean {
    if (this.#spentMs >= this.#limits.totalMs) return true;
    const begunAt = performance.now();
    const file = openEither(this.#path) ?? openNamedByCluster(dirname(this.#path));
    if (file === undefined) return true;
    try {
      const { ino, size: fullSize } = fstatSync(file);
      const size = Math.min(fullSize, this.#limits.logBytes);
      if (this.#fileId !== String(ino) || size < this.#offset) this.#begin(String(ino));
      if (size === this.#offset) return true; // a check without news does not count against `totalMs`
      const isAllRead = this.#readTurn(file, size, begunAt + this.#limits.turnMs);
      this.#spentMs += performance.now() - begunAt;
      return isAllRead;
    } finally {
      closeSync(file);
    }
  }

  #readTurn(file: number, size: number, until: number): boolean {
    const begin = this.#offset;
    const end = Math.min(size, begin + this.#limits.turnBytes);
    const line = new LineBuffer(this.#limits.lineBytes);
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(1, end - begin)));
    for (let at = begin; at < end;) {
      const bytesRead = readSync(file, chunk, 0, Math.min(chunk.length, end - at), at);
      if (bytesRead === 0) return true;
      this.#takeLines(chunk.subarray(0, bytesRead), at, line);
      at += bytesRead;
      // A turn must read at least one whole line, because the next turn repeats a partial one.
      if (performance.now() >= until && this.#offset > begin && at < size) return false;
    }
    return end === size;
  }

  #begin(fileId: string): void {
    if (this.#fileId !== "") this.#counts.restart();
    this.#fileId = fileId;
    this.#offset = 0;
    this.#skipsLine = false;
  }

  /** An incomplete line is read again in the next turn, so nothing stays in memory between turns. */
  #takeLines(chunk: Buffer, chunkOffset: number, line: LineBuffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const whole = this.#skipsLine ? undefined : line.end(chunk.subarray(start, end));
      if (whole !== undefined) this.#count(whole);
      this.#skipsLine = false;
      start = end + 1;
      this.#offset = chunkOffset + start;
    }
    if (!this.#skipsLine) this.#skipsLine = !line.keep(chunk.subarray(start));
    if (this.#skipsLine) this.#offset = chunkOffset + chunk.length;
  }

  #count(line: Buffer): void {
    const head = line.toString("latin1", 0, 60);
    if (!wanted.some((prefix) => head.startsWith(prefix)) || isNestedDeeper(line, this.#limits.lineDepth)) return;
    try {
      const event: unknown = JSON.parse(line.toString("utf8"));
      // The line begins with an object, so it is one.
      this.#counts.add(event as Readonly<Record<string, unknown>>);
    } catch {
      // Truncated by a crash, or not from Spark.
    }
  }
}

/** The beginning of a line whose end is not read yet. */
class LineBuffer {
  readonly #limit: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False: the line is too long. Copies the part, because the chunk's memory is reused. */
  keep(part: Buffer): boolean {
    this.#bytes += part.length;
    if (this.#bytes <= this.#limit) {
      this.#parts.push(Buffer.from(part));
      return true;
    }
    this.#clear();
    return false;
  }

  /** The whole line; undefined: it is too long. */
  end(part: Buffer): Buffer | undefined {
    const isShort = this.#bytes + part.length <= this.#limit;
    const line = this.#parts.length === 0 ? part : Buffer.concat([...this.#parts, part]);
    this.#clear();
    return isShort ? line : undefined;
  }

  #clear(): void {
    this.#parts = [];
    this.#bytes = 0;
  }
}

function openEither(path: string): number | undefined {
  return openPlainFileSync(path) ?? openPlainFileSync(`${path}.inprogress`);
}

/** The names on a standalone cluster, YARN and Kubernetes. */
const namedByCluster = /^(app-\d+-\d+|application_\d+_\d+|spark-[0-9a-f]{32})(\.inprogress)?$/;

/** More than the sessions of real programs. Limited, because a program can fill the folder. */
const maxNames = 100;

function openNamedByCluster(folder: string): number | undefined {
  const last = firstNames(folder)
    .filter((name) => namedByCluster.test(name))
    .toSorted()
    .at(-1);
  return last === undefined ? undefined : openEither(join(folder, last.replace(/\.inprogress$/, "")));
}

function firstNames(folder: string): string[] {
  const names: string[] = [];
  let entries: Dir | undefined;
  try {
    entries = opendirSync(folder);
    for (let entry = entries.readSync(); entry !== null && names.length < maxNames; entry = entries.readSync()) {
      names.push(entry.name);
    }
  } catch {
    // The folder does not exist yet, or is gone.
  } finally {
    entries?.closeSync();
  }
  return names;
}
