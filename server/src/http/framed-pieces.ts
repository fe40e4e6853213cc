type Piece = Uint8Array | string;

/**
 * Puts chunks before and after those of an iterator. Closing the result always closes the iterator, even if nothing was
 * read; a generator that was never started would not.
 */
export function framed(
  before: readonly Piece[],
  pieces: AsyncIterator<Piece>,
  behind: readonly Piece[] = [],
): AsyncIterableIterator<Piece> {
  const all = joined(before, pieces, behind);
  let isBegun = false;
  return {
    next() {
      isBegun = true;
      return all.next();
    },
    async return() {
      if (!isBegun) await pieces.return?.();
      return all.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* joined(
  before: readonly Piece[],
  pieces: AsyncIterator<Piece>,
  behind: readonly Piece[],
): AsyncGenerator<Piece, void, undefined> {
  try {
    yield* before;
    for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next()) yield piece.value;
    yield* behind;
  } finally {
    await pieces.return?.();
  }
}
