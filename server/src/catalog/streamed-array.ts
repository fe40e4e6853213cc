import { framed } from "../http/framed-pieces.ts";
import { StreamReply } from "../http/stream-reply.ts";

type Pieces<T> = AsyncIterable<readonly T[]> | Iterable<readonly T[]>;

/** A piece for each item would cost more than the item. */
const PIECE_CHARS = 64 * 1024;

/**
 * An array written while its items are read. Names of tables are nobody's to change, so not even the reply schema
 * touches them; `textOf` makes each item JSON. What keeps the first items from being read is told by a status, which
 * stands before them.
 */
export async function streamedArray<T>(
  pieces: Pieces<T>,
  textOf: (item: T) => string = JSON.stringify,
): Promise<StreamReply> {
  const text = arrayText(pieces, textOf);
  const first = await text.next();
  return new StreamReply("application/json", framed(first.done === true ? [] : [first.value], text));
}

async function* arrayText<T>(pieces: Pieces<T>, textOf: (item: T) => string): AsyncGenerator<string> {
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
