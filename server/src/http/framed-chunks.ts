type Chunk = Uint8Array | string;

/**
 * Puts chunks before and after those of an iterator. Closing the result always closes the iterator, even if nothing was
 * read; a generator that was never started would not.
 */
export function frameChunks(
  before: readonly Chunk[],
  chunks: AsyncIterator<Chunk>,
  after: readonly Chunk[] = [],
): AsyncIterableIterator<Chunk> {
  const all = joined(before, chunks, after);
  let isStarted = false;
  return {
    next() {
      isStarted = true;
      return all.next();
    },
    async return() {
      if (!isStarted) await chunks.return?.();
      return all.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* joined(
  before: readonly Chunk[],
  chunks: AsyncIterator<Chunk>,
  after: readonly Chunk[],
): AsyncGenerator<Chunk, void, undefined> {
  try {
    yield* before;
    for (let chunk = await chunks.next(); chunk.done !== true; chunk = await chunks.next()) yield chunk.value;
    yield* after;
  } finally {
    await chunks.return?.();
  }
}
