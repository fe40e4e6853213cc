/**
 * What each of the items opens into, one behind the other and in their order, while so many are open and have their first
 * pieces read already. Nothing is held but those pieces, whatever the length of any of it.
 */
export async function* openAhead<T, R>(
  items: AsyncIterable<readonly T[]>,
  ahead: number,
  open: (item: T) => AsyncGenerator<readonly R[]>,
): AsyncGenerator<readonly R[]> {
  const singly = eachOf(items);
  const opened: Opened<R>[] = [];
  let isOver = false;
  try {
    for (;;) {
      while (!isOver && opened.length < ahead) {
        const item = await singly.next();
        if (item.done === true) isOver = true;
        else opened.push(readAhead(open(item.value)));
      }
      const [first] = opened;
      if (first === undefined) return;
      const piece = await first.next;
      if (piece.done === true) opened.shift();
      else {
        opened[0] = readAhead(first.pieces);
        yield piece.value;
      }
    }
  } finally {
    // Of those that wait for an answer the signal is what ends them.
    await Promise.allSettled([...opened.map(({ pieces }) => pieces.return(undefined)), singly.return(undefined)]);
  }
}

interface Opened<R> {
  readonly pieces: AsyncGenerator<readonly R[]>;
  readonly next: Promise<IteratorResult<readonly R[]>>;
}

function readAhead<R>(pieces: AsyncGenerator<readonly R[]>): Opened<R> {
  const next = pieces.next();
  next.catch(() => undefined); // thrown where it is its turn
  return { pieces, next };
}

async function* eachOf<T>(pieces: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const piece of pieces) yield* piece;
}

/** In pieces of that size; the last may be smaller. */
export async function* inPieces<T>(items: AsyncIterable<readonly T[]>, size: number): AsyncGenerator<readonly T[]> {
  let piece: T[] = [];
  for await (const some of items) {
    for (const item of some) {
      piece.push(item);
      if (piece.length < size) continue;
      yield piece;
      piece = [];
    }
  }
  if (piece.length > 0) yield piece;
}
