import { openPlainFile, readChunks } from "../../lib/plain-file.ts";

/** Bytes that were measured and can be read, from wherever they are. */
export interface TextPart {
  readonly size: number;
  /** Within what was measured. */
  read(start: number, end: number): AsyncIterable<Buffer>;
  /** Where it is all of a file of this node. */
  readonly path?: string;
}

/**
 * The log, or the output, of all attempts one behind the other: files only ever grow, so an offset that a client holds
 * keeps its meaning also when the command is run again.
 */
export interface CommandText {
  readonly parts: readonly TextPart[];
  readonly size: number;
}

export const NO_TEXT: CommandText = { parts: [], size: 0 };
export const NO_PART: TextPart = { size: 0, read: () => readText(NO_TEXT) };

/** What was measured, from an offset on. */
export async function* readText({ parts }: CommandText, offset = 0, limit = Infinity): AsyncGenerator<Buffer> {
  let [skip, left] = [offset, limit];
  for (const part of parts) {
    const start = Math.min(skip, part.size);
    const end = Math.min(part.size, start + left);
    skip -= start;
    left -= end - start;
    if (end > start) yield* part.read(start, end);
  }
}

/** Undefined: there is no such file. It is opened when it is read: whoever never begins leaves none open. */
export async function filePart(path: string): Promise<TextPart | undefined> {
  const file = await openPlainFile(path);
  await file?.handle.close();
  return file === undefined ? undefined : { size: file.size, path, read: (start, end) => readFile(path, start, end) };
}

export function textPart(text: string): TextPart {
  const bytes = Buffer.from(text);
  return {
    size: bytes.length,
    async *read(start, end) {
      yield bytes.subarray(start, end);
    },
  };
}

async function* readFile(path: string, start: number, end: number): AsyncGenerator<Buffer> {
  const file = await openPlainFile(path);
  if (file === undefined) throw new Error("a file of a command was taken away while it was read");
  try {
    yield* readChunks(file, start, end);
  } finally {
    await file.handle.close();
  }
}

/** Those that are there, one behind the other. */
export function joined(found: readonly (TextPart | undefined)[]): CommandText {
  const parts = found.filter((part) => part !== undefined);
  return { parts, size: parts.reduce((sum, { size }) => sum + size, 0) };
}
