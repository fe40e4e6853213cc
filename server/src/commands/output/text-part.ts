import { openPlainFile, readChunks } from "../../lib/plain-file.ts";

/** Text of a known size that can be read, from a file or from the account's storage. */
export interface TextPart {
  readonly size: number;
  /** `start` and `end` are within `size`. */
  read(start: number, end: number): AsyncIterable<Buffer>;
  /** The file of this node that has exactly this text; absent: there is none. */
  readonly path?: string;
}

/**
 * The log, or the output, of all attempts in their order. The files only grow, so an offset that a client has stays valid
 * when another attempt follows.
 */
export interface CommandText {
  readonly parts: readonly TextPart[];
  readonly size: number;
}

export const NO_TEXT: CommandText = { parts: [], size: 0 };
export const NO_PART: TextPart = { size: 0, read: () => readText(NO_TEXT) };

/** Reads from an offset on, up to the measured size. */
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

/** Undefined: there is no such file. The file is opened only when it is read, so an unread part holds none open. */
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
  if (file === undefined) throw new Error("a file of a command was removed while it was read");
  try {
    yield* readChunks(file, start, end);
  } finally {
    await file.handle.close();
  }
}

/** The parts that exist, in their order. */
export function joined(found: readonly (TextPart | undefined)[]): CommandText {
  const parts = found.filter((part) => part !== undefined);
  return { parts, size: parts.reduce((sum, { size }) => sum + size, 0) };
}
