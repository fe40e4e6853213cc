import { framed } from "../http/framed-pieces.ts";
import { StreamReply } from "../http/stream-reply.ts";

/** A piece for each item would cost more than the item. */
const PIECE_CHARS = 64 * 1024;

/**
 * An array written while its items are read. Names of tables are nobody's to change, so not even the reply schema
 * touches them. What keeps the first items from being read is told by a status, which stands before them.
 */
export async function streamedArray(items: AsyncIterable<unknown> | Iterable<unknown>): Promise<StreamReply> {
  const pieces = arrayText(items);
  const first = await pieces.next();
  return new StreamReply("application/json", framed(first.done === true ? [] : [first.value], pieces));
}

async function* arrayText(items: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<string> {
  let piece = "[";
  let comma = "";
  for await (const item of items) {
    piece += comma + JSON.stringify(item);
    comma = ",";
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = "";
  }
  yield `${piece}]`;
}
