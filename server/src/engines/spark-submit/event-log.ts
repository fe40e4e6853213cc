import { opendir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { openPlainFile, type PlainFile } from "../../lib/plain-file.ts";
import { EventLogProgress, type SparkJob } from "./event-log-progress.ts";

export interface EventLogState {
  readonly progress: number;
  readonly jobs: readonly SparkJob[];
}

const chunkBytes = 256 * 1024;
/** Events with whole query plans can be huge; those we need are small unless a job has very many stages. */
const longestLineBytes = 8 * 1024 * 1024;
/** Far more than real programs leave; beyond it nothing is counted. */
const longestLogBytes = 2 * 1024 * 1024 * 1024;
const newline = 0x0a;

const wanted = ["JobStart", "TaskEnd", "StageCompleted", "JobEnd"].map((name) => `{"Event":"SparkListener${name}"`);

/**
 * Follows the event log that Spark writes while a program runs (`<file>.inprogress`, renamed to `<file>` at its end). A
 * cluster elsewhere gives applications names of its own: there it is the one in the folder that is named so. Of several,
 * in programs with several sessions, it is the last; pods have names without an order, there it is any of them.
 * Each `read` goes on where the last one ended and holds one line at a time. Never fails because of what is in the
 * file: programs can write into it.
 */
export class EventLogReader {
  readonly #path: string;
  readonly #counts = new EventLogProgress();
  #fileId = "";
  #offset = 0;
  #line: Buffer[] = [];
  #lineBytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  async read(): Promise<EventLogState> {
    const file = (await openEither(this.#path)) ?? (await openNamedByCluster(dirname(this.#path)));
    if (file !== undefined) {
      try {
        await this.#readNew(file);
      } finally {
        await file.handle.close();
      }
    }
    return { progress: this.#counts.progress, jobs: this.#counts.jobs };
  }

  async #readNew({ handle }: PlainFile): Promise<void> {
    const { ino, size: fullSize } = await handle.stat();
    const size = Math.min(fullSize, longestLogBytes);
    if (this.#fileId !== String(ino) || size < this.#offset) this.#begin(String(ino));
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(1, size - this.#offset)));
    // Only up to the size it has now: a program that writes without end shall not keep us here.
    while (this.#offset < size) {
      const { bytesRead } = await handle.read(chunk, 0, Math.min(chunk.length, size - this.#offset), this.#offset);
      if (bytesRead === 0) return;
      this.#offset += bytesRead;
      this.#takeLines(chunk.subarray(0, bytesRead));
    }
  }

  #begin(fileId: string): void {
    if (this.#fileId !== "") this.#counts.restart();
    this.#fileId = fileId;
    this.#offset = 0;
    this.#line = [];
    this.#lineBytes = 0;
  }

  #takeLines(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, end));
      if (this.#lineBytes <= longestLineBytes) this.#count(Buffer.concat(this.#line));
      this.#line = [];
      this.#lineBytes = 0;
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  /** The chunk's memory is used again. */
  #keep(part: Buffer): void {
    this.#lineBytes += part.length;
    if (this.#lineBytes > longestLineBytes) this.#line = [];
    else if (part.length > 0) this.#line.push(Buffer.from(part));
  }

  #count(line: Buffer): void {
    const head = line.toString("latin1", 0, 60);
    if (!wanted.some((prefix) => head.startsWith(prefix))) return;
    try {
      const event: unknown = JSON.parse(line.toString("utf8"));
      // It began as an object, so it is one.
      this.#counts.add(event as Readonly<Record<string, unknown>>);
    } catch {
      // Torn by a crash, or not Spark's.
    }
  }
}

async function openEither(path: string): Promise<PlainFile | undefined> {
  return (await openPlainFile(path)) ?? openPlainFile(`${path}.inprogress`);
}

/** Of a master, of YARN, of pods. */
const namedByCluster = /^(app-\d+-\d+|application_\d+_\d+|spark-[0-9a-f]{32})(\.inprogress)?$/;

/** Far more than sessions leave; a program can fill the folder. */
const mostNames = 100;

async function openNamedByCluster(folder: string): Promise<PlainFile | undefined> {
  const last = (await firstNames(folder))
    .filter((name) => namedByCluster.test(name))
    .toSorted()
    .at(-1);
  return last === undefined ? undefined : openEither(join(folder, last.replace(/\.inprogress$/, "")));
}

async function firstNames(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder)) {
      names.push(name);
      if (names.length === mostNames) break;
    }
  } catch {
    // Not there yet, or gone.
  }
  return names;
}
