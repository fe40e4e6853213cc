/** Joins and cuts chunks into blocks of `size` bytes, each in memory of its own; the last one may be shorter. */
export async function* blocksOf(source: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let block = Buffer.allocUnsafeSlow(size);
  let filled = 0;
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length;) {
      const copied = chunk.copy(block, filled, at);
      at += copied;
      filled += copied;
      if (filled < size) continue;
      yield block;
      block = Buffer.allocUnsafeSlow(size);
      filled = 0;
    }
  }
  if (filled > 0) yield block.subarray(0, filled);
}

/** Runs up to `limit` tasks at a time and yields their results in the order of the items. */
export async function* mapInOrder<T, R>(
  items: AsyncIterable<T>,
  limit: number,
  run: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for await (const item of items) {
    const result = run(item);
    result.catch(() => undefined); // nothing waits for it if an earlier one fails
    running.push(result);
    const first = running.length < limit ? undefined : running.shift();
    if (first !== undefined) yield await first;
  }
  for (const result of running) yield await result;
}

/** Yields the same items, and stops when the signal is aborted, even if the source never answers. */
export async function* abortable<T>(source: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  if (signal === undefined) {
    yield* source;
    return;
  }
  signal.throwIfAborted();
  const iterator = source[Symbol.asyncIterator]();
  let refuse: (reason: unknown) => void = () => undefined;
  const abort = () => refuse(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  let isOpen = true;
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        refuse = reject;
        iterator.next().then(resolve, reject);
      });
      isOpen = next.done !== true;
      if (next.done === true) return;
      yield next.value;
      signal.throwIfAborted();
    }
  } finally {
    signal.removeEventListener("abort", abort);
    if (isOpen) {
      const closed = iterator.return?.();
      if (signal.aborted) closed?.catch(() => undefined); // a source that never answers never closes
      else await closed;
    }
  }
}
