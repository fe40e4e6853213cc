import { randomUUID } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readJsonLines } from "../../lib/json-lines.ts";
import { flushFolder } from "../../lib/private-file.ts";
import type { RefreshedPartition, NotedPartitions } from "../../catalog/contract.ts";

export function journalFile(folder: string): string {
  return join(folder, "added.jsonl");
}

interface Note {
  readonly note: string;
  readonly partitions: readonly (readonly [name: string, location: string])[];
}

/** The partitions of a note that were not added, by their index in it. */
interface SettledNote {
  readonly settled: string;
  readonly without: readonly number[];
}

type Line = Note | SettledNote;

/**
 * The journal of the partitions that a refresh adds: lines of JSON in the attempt's folder. A note is on the disk before its
 * partitions are added, and a second line settles it afterwards. After a crash, the next server therefore knows all
 * partitions that may have been added, and which notes it has to check with the metastore. Lines are only appended.
 */
export class AddedJournal {
  readonly #handle: FileHandle;
  readonly unsettled: readonly NotedPartitions[];

  private constructor(handle: FileHandle, unsure: readonly Note[]) {
    this.#handle = handle;
    this.unsettled = unsure.map((note) => this.#noted(note.note, partitionsOf(note)));
  }

  static async open(folder: string): Promise<AddedJournal> {
    const path = journalFile(folder);
    const handle = await open(path, "a+", 0o600);
    try {
      const unsure = new Map<string, Note>();
      let wholeBytes = 0;
      for await (const { end, line } of linesOf(handle)) {
        wholeBytes = end;
        if ("note" in line) unsure.set(line.note, line);
        else unsure.delete(line.settled);
      }
      await handle.truncate(wholeBytes); // drops a line that a crash has cut off
      await flushFolder(dirname(path));
      return new AddedJournal(handle, [...unsure.values()]);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async note(partitions: readonly RefreshedPartition[]): Promise<NotedPartitions> {
    const note = randomUUID();
    await this.#append({ note, partitions: partitions.map(({ name, location }) => [name, location]) });
    await this.#handle.datasync();
    return this.#noted(note, partitions);
  }

  /** All added partitions, note by note; unsettled notes count as added. */
  async *batches(): AsyncGenerator<readonly RefreshedPartition[]> {
    const without = new Map<string, ReadonlySet<number>>();
    for await (const { line } of linesOf(this.#handle)) {
      if ("settled" in line) without.set(line.settled, new Set(line.without));
    }
    for await (const { line } of linesOf(this.#handle)) {
      if ("note" in line) yield partitionsOf(line).filter((_, index) => without.get(line.note)?.has(index) !== true);
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  #noted(note: string, partitions: readonly RefreshedPartition[]): NotedPartitions {
    return {
      partitions,
      // Not flushed to the disk: if the line is lost, the next server checks the metastore.
      settle: async (added) => {
        const names = new Set(added.map(({ name }) => name));
        const without = partitions.flatMap(({ name }, index) => (names.has(name) ? [] : [index]));
        await this.#append({ settled: note, without });
      },
    };
  }

  async #append(line: Line): Promise<void> {
    await this.#handle.appendFile(`${JSON.stringify(line)}\n`);
  }
}

function partitionsOf({ partitions }: Note): RefreshedPartition[] {
  return partitions.map(([name, location]) => ({ name, location }));
}

/** Whole lines only. */
async function* linesOf(handle: FileHandle): AsyncGenerator<{ end: number; line: Line }> {
  for await (const { end, value } of readJsonLines(handle)) yield { end, line: value as Line }; // written above
}
