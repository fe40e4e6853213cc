import { randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { flushFolder } from "../../lib/private-file.ts";
import { readBootId } from "../../lib/process-table.ts";
import { FinishedOutputs, type DoneOutput } from "./finished-outputs.ts";
import { columnsOf, readJournalLines, type JournalLine } from "./journal-line.ts";
import { JournalState, type Leftovers, type OpenUpload } from "./journal-state.ts";
import { memberDigest, MembersDigest } from "./plan/members-digest.ts";
import type { OriginalFile, SourceFile } from "./plan/planned-output.ts";
import type { EarlierOutput } from "./plan/skip-done.ts";

/** Rows are written in batches of this size, so that timers and connections can run in between. */
const ROW_BATCH = 1000;

export function journalFile(folder: string): string {
  return join(folder, "journal.jsonl");
}

/** Keeps lines below the limit of `readLeftovers`. */
const BEGIN_CHARACTERS = 64 * 1024;

/**
 * The journal of a copy, shared by all attempts of a command (`journal-line.ts`). An output's name is on the disk before
 * the output begins, and an upload's id before its first part, so that a later attempt knows what an earlier one may have
 * left: it continues there, and aborts uploads that are still open.
 */
export class Journal implements Leftovers {
  readonly #handle: FileHandle;
  readonly #bootId: string;
  readonly id: string;
  /** Whether an earlier attempt has begun outputs or the manifest. */
  readonly isContinued: boolean;
  /** Whether an earlier attempt has finished all outputs. Its sources may be gone, so nothing must be planned again. */
  readonly isComplete: boolean;
  readonly leftUploads: Leftovers["leftUploads"];
  readonly leftOutputs: Leftovers["leftOutputs"];
  readonly leftTemporaries: Leftovers["leftTemporaries"];
  #lines: string[] = [];
  #isFlushPlanned = false;
  #failure: Error | undefined;
  #lastOutput: number;

  private constructor(handle: FileHandle, state: JournalState, bootId: string) {
    const left = state.leftovers(state.id ?? randomBytes(8).toString("hex"));
    this.#handle = handle;
    this.#bootId = bootId;
    this.id = left.id;
    this.isContinued = state.isContinued;
    this.isComplete = state.isComplete;
    this.leftUploads = left.leftUploads;
    this.leftOutputs = left.leftOutputs;
    this.leftTemporaries = left.leftTemporaries;
    this.#lastOutput = state.lastOutput;
  }

  static async open(folder: string): Promise<Journal> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const handle = await open(journalFile(folder), "a+", 0o600);
    try {
      const state = new JournalState();
      let wholeBytes = 0;
      for await (const { end, line } of readJournalLines(handle)) {
        state.add(line);
        wholeBytes = end;
      }
      await handle.truncate(wholeBytes); // drops a line that a crash has cut off
      const journal = new Journal(handle, state, await readBootId());
      if (wholeBytes === 0) {
        journal.#write(["id", journal.id]);
        await flushFolder(folder);
      }
      journal.#write(["boot", journal.#bootId]);
      return journal;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Resolves when the names are on the disk. */
  async begin(names: readonly string[]): Promise<void> {
    let line: string[] = [];
    let characters = 0;
    for (const name of names) {
      line.push(name);
      characters += name.length;
      if (characters < BEGIN_CHARACTERS) continue;
      this.#write(["begin", ...line]);
      line = [];
      characters = 0;
    }
    if (line.length > 0) this.#write(["begin", ...line]);
    await this.#sync();
  }

  /** Resolves when the manifest's name is on the disk. */
  async beginManifest(name: string): Promise<void> {
    this.#write(["manifest", name]);
    await this.#sync();
  }

  /** Resolves when the note is on the disk. */
  async noteOriginal(name: string, { size, modifiedMs }: OriginalFile): Promise<void> {
    this.#write(["append", name, size, modifiedMs]);
    await this.#sync();
  }

  /** Resolves when the note is on the disk. */
  async noteUpload({ uri, uploadId }: OpenUpload): Promise<void> {
    this.#write(["upload", uri, uploadId]);
    await this.#sync();
  }

  /** Resolves when the note is on the disk. */
  async noteTemporary(uri: string): Promise<void> {
    this.#write(["temporary", uri]);
    await this.#sync();
  }

  /** Not flushed to the disk, like all notes down to `noteJoined`: if they are lost, the work is done again. */
  noteRemoved(uri: string): void {
    this.#write(["removed", uri]);
  }

  noteClosed({ uploadId }: Pick<OpenUpload, "uploadId">): void {
    this.#write(["closed", uploadId]);
  }

  noteManifest(name: string): void {
    this.#write(["written", name]);
  }

  /** The output is not a part of this copy any more. */
  noteVoid(name: string): void {
    this.#write(["void", name]);
  }

  /** An output with one source. */
  noteDone({ name, bytes, size }: DoneOutput, source: SourceFile): void {
    this.#write(["done", name, bytes, size, this.#nextOutput(), memberDigest(source), ...columnsOf(source)]);
  }

  /** An output with any number of sources. */
  async noteJoined({ name, bytes, size }: DoneOutput, sources: AsyncIterable<SourceFile>): Promise<void> {
    const number = this.#nextOutput();
    const digest = new MembersDigest();
    let rows = 0;
    for await (const source of sources) {
      digest.add(source);
      this.#write(["row", number, name, ...columnsOf(source)]);
      rows += 1;
      if (rows % ROW_BATCH !== 0) continue;
      this.#flush();
      await nextTurn();
    }
    this.#write(["done", name, bytes, size, number, digest.finish()]);
  }

  /** Resolves when the note is on the disk. */
  async noteComplete(): Promise<void> {
    this.#write(["complete"]);
    await this.#sync();
  }

  /** The names of all files that were begun, in this order. A name may occur several times. */
  async *begunNames(): AsyncGenerator<string> {
    for await (const line of this.#read()) if (line[0] === "begin" || line[0] === "manifest") yield* line.slice(1);
  }

  /**
   * The events of earlier attempts for each output, in order. `losesWrites`: the destination writes files to the disk
   * later. A file that was done before the machine stopped may then be empty, so it counts as begun.
   */
  async *earlierOutputs({ losesWrites }: { losesWrites: boolean }): AsyncGenerator<EarlierOutput> {
    let isTrusted = true;
    for await (const line of this.#read()) {
      if (line[0] === "boot") isTrusted = !losesWrites || line[1] === this.#bootId;
      if (line[0] === "begin") for (const name of line.slice(1)) yield { name, state: "begun" };
      if (line[0] === "void") yield { name: line[1], state: "void" };
      if (line[0] === "done") {
        const [, name, , size, , digest] = line;
        yield isTrusted ? { name, state: "done", digest, size } : { name, state: "begun" };
      }
      if (line[0] === "append") {
        yield { name: line[1], state: "original", original: { size: line[2], modifiedMs: line[3] } };
      }
    }
  }

  /** Call it when the outputs of the plan are done. */
  finishedOutputs(scratchFolder: string, signal: AbortSignal): Promise<FinishedOutputs> {
    return FinishedOutputs.read(() => this.#read(), { hasRepeats: this.isContinued, scratchFolder, signal });
  }

  async close(): Promise<void> {
    this.#tryFlush();
    await this.#handle.close();
  }

  #nextOutput(): number {
    this.#lastOutput += 1;
    return this.#lastOutput;
  }

  async *#read(): AsyncGenerator<JournalLine> {
    this.#flush();
    for await (const { line } of readJournalLines(this.#handle)) yield line;
  }

  /** Lines of the same turn of the event loop are written together. */
  #write(line: JournalLine): void {
    this.#lines.push(`${JSON.stringify(line)}\n`);
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(() => this.#tryFlush());
  }

  /** A failure, such as a full disk, is thrown by the next call that needs the journal. */
  #tryFlush(): void {
    try {
      this.#flush();
    } catch {
      // `#failure` holds the error.
    }
  }

  #flush(): void {
    this.#isFlushPlanned = false;
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#lines.length === 0) return;
    const bytes = Buffer.from(this.#lines.join(""));
    this.#lines = [];
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(this.#handle.fd, bytes, at);
    } catch (error) {
      // The last line may be cut off, so nothing may follow it.
      this.#failure = error instanceof Error ? error : new Error(String(error));
      throw error;
    }
  }

  async #sync(): Promise<void> {
    this.#flush();
    await this.#handle.datasync();
  }
}
