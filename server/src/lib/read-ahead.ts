/**
 * Splits a list into batches and yields the result of each, in order. Up to `ahead` batches are requested ahead of the
 * reader.
 */
export async function* readAhead<T, R>(
  items: readonly T[],
  batchSize: number,
  ahead: number,
  load: (batch: readonly T[]) => Promise<R>,
): AsyncGenerator<R> {
  const pending: Promise<R>[] = [];
  for (let at = 0; at < items.length || pending.length > 0;) {
    while (pending.length < ahead && at < items.length) {
      const result = load(items.slice(at, at + batchSize));
      result.catch(() => undefined); // thrown when its turn comes
      pending.push(result);
      at += batchSize;
    }
    const next = pending.shift();
    if (next !== undefined) yield await next;
  }
}
