/**
 * Opens a stream for each item and yields their pieces one stream after the other, in the order of the items. Up to
 * `ahead` streams are open and have their next piece read in advance. Only these pieces are held in memory.
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
    // A stream that waits for an answer ends only by its own signal.
    await Promise.allSettled([...opened.map(({ pieces }) => pieces.return(undefined)), singly.return(undefined)]);
  }
}

interface Opened<R> {
  readonly pieces: AsyncGenerator<readonly R[]>;
  readonly next: Promise<IteratorResult<readonly R[]>>;
}

function readAhead<R>(pieces: AsyncGenerator<readonly R[]>): Opened<R> {
  const next = pieces.next();
  next.catch(() => undefined); // rethrown when it is its turn
  return { pieces, next };
}

async function* eachOf<T>(pieces: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const piece of pieces) yield* piece;
}

/** Regroups the items into pieces of that size; the last may be smaller. */
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
