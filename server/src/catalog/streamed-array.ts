import { frameChunks, StreamReply } from "../http/stream-reply.ts";

export type Pieces<T> = AsyncIterable<readonly T[]> | Iterable<readonly T[]>;

/** Items are written in batches: one write for each would cost more than the item. */
const PIECE_CHARS = 64 * 1024;

/**
 * Replies with a JSON array that is written while its items are read. The items bypass the reply schema, so that names
 * of tables stay exactly as they are; `textOf` renders each as JSON.
 */
export function streamedArray<T>(
  pieces: Pieces<T>,
  textOf: (item: T) => string = JSON.stringify,
): Promise<StreamReply> {
  return streamedJson(arrayText(pieces, textOf));
}

/** The first piece is read before the reply starts, so that an error there still gets its status. */
export async function streamedJson(text: AsyncGenerator<string>): Promise<StreamReply> {
  const first = await text.next();
  return new StreamReply("application/json", frameChunks(first.done === true ? [] : [first.value], text));
}

export async function* arrayText<T>(pieces: Pieces<T>, textOf: (item: T) => string): AsyncGenerator<string> {
  let text = "[";
  let comma = "";
  for await (const items of pieces) {
    for (const item of items) {
      text += comma + textOf(item);
      comma = ",";
      if (text.length < PIECE_CHARS) continue;
      yield text;
      text = "";
    }
  }
  yield `${text}]`;
}

/** Joins short pieces. */
export async function* joinedPieces(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let text = "";
  for await (const piece of pieces) {
    text += piece;
    if (text.length < PIECE_CHARS) continue;
    yield text;
    text = "";
  }
  yield text;
}
