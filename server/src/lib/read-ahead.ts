/** The answers to pieces of a long list, in order; so many are asked for ahead of the reader. */
export async function* readAhead<T, R>(
  items: readonly T[],
  pieceSize: number,
  ahead: number,
  ask: (piece: readonly T[]) => Promise<R>,
): AsyncGenerator<R> {
  const asked: Promise<R>[] = [];
  for (let at = 0; at < items.length || asked.length > 0;) {
    while (asked.length < ahead && at < items.length) {
      const answer = ask(items.slice(at, at + pieceSize));
      answer.catch(() => undefined); // thrown where it is its turn
      asked.push(answer);
      at += pieceSize;
    }
    const next = asked.shift();
    if (next !== undefined) yield await next;
  }
}
