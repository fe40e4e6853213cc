import { sourceOf, type JournalLine, type NotedSource, type SourceColumns } from "./journal-line.ts";
import { sortRecords, type RecordSorter } from "./sorted-file/record-sorter.ts";

export interface DoneOutput {
  readonly name: string;
  /** The sum of the sources' sizes. */
  readonly bytes: number;
  /** The size of the output, which differs from `bytes` if the compression was changed. */
  readonly size: number;
}

/** A source and the output that holds its contents. */
export interface CopiedSource {
  readonly source: NotedSource;
  /** The output's path below the destination. */
  readonly output: string;
}

/** The outputs of the copy and their sources. The last line of each name in the journal counts. */
export class FinishedOutputs {
  readonly #lines: () => AsyncIterable<JournalLine>;
  readonly #numbers: NumberSet;

  private constructor(lines: () => AsyncIterable<JournalLine>, numbers: NumberSet) {
    this.#lines = lines;
    this.#numbers = numbers;
  }

  /** `lines` reads the journal from its start. Without repeated names, nothing has to be sorted. */
  static async read(
    lines: () => AsyncIterable<JournalLine>,
    { hasRepeats, scratchFolder, signal }: { hasRepeats: boolean; scratchFolder: string; signal: AbortSignal },
  ): Promise<FinishedOutputs> {
    const numbers = new NumberSet();
    if (hasRepeats) {
      await addLast(numbers, lines(), scratchFolder, signal);
    } else {
      for await (const line of lines()) if (line[0] === "done") numbers.add(line[4]);
    }
    return new FinishedOutputs(lines, numbers);
  }

  async *outputs(): AsyncGenerator<DoneOutput> {
    for await (const line of this.#lines()) {
      if (line[0] === "done" && this.#numbers.has(line[4])) yield { name: line[1], bytes: line[2], size: line[3] };
    }
  }

  async *sources(): AsyncGenerator<CopiedSource> {
    for await (const line of this.#lines()) {
      if (line[0] === "row" && this.#numbers.has(line[1])) {
        const [, , output, ...columns] = line;
        yield { source: sourceOf(columns), output };
      }
      if (line[0] === "done" && this.#numbers.has(line[4])) {
        const [, output, , , , , ...columns] = line;
        if (isSource(columns)) yield { source: sourceOf(columns), output };
      }
    }
  }
}

/** Outputs with several sources have them in rows of their own. */
function isSource(columns: SourceColumns | readonly []): columns is SourceColumns {
  return columns.length > 0;
}

/** Adds the numbers of the outputs whose last line says that they are done. */
async function addLast(
  numbers: NumberSet,
  lines: AsyncIterable<JournalLine>,
  scratchFolder: string,
  signal: AbortSignal,
): Promise<void> {
  const fill = async (sorter: RecordSorter): Promise<void> => {
    for await (const line of lines) {
      if (line[0] === "begin") for (const name of line.slice(1)) sorter.add(name, "");
      if (line[0] === "void") sorter.add(line[1], "");
      if (line[0] === "done") sorter.add(line[1], String(line[4]));
    }
  };
  const sorted = await sortRecords(scratchFolder, fill, signal); // leaves lines of the same name in their order
  try {
    let name: string | undefined;
    let last = "";
    for (const cursor = sorted.cursor(); cursor.advance();) {
      if (cursor.key !== name && last !== "") numbers.add(Number(last));
      name = cursor.key;
      last = cursor.value;
    }
    if (last !== "") numbers.add(Number(last));
  } finally {
    sorted.close();
  }
}

/** A bit for each number: 125 KB for a million outputs. */
class NumberSet {
  #bits = new Uint8Array(1024);

  add(number: number): void {
    const at = Math.floor(number / 8);
    if (at >= this.#bits.length) {
      const bits = new Uint8Array(2 * at);
      bits.set(this.#bits);
      this.#bits = bits;
    }
    this.#bits[at] = (this.#bits[at] ?? 0) | (1 << (number % 8));
  }

  has(number: number): boolean {
    return ((this.#bits[Math.floor(number / 8)] ?? 0) & (1 << (number % 8))) !== 0;
  }
}
