/** Waits for `work` until the signal aborts; a result that arrives later is undone. */
export async function unlessAborted<T>(
  signal: AbortSignal,
  work: Promise<T>,
  undo: (late: T) => void = () => undefined,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const refuse = (): void => aborted.reject(signal.reason);
  if (signal.aborted) refuse();
  else signal.addEventListener("abort", refuse, { once: true });
  try {
    return await Promise.race([aborted.promise, work]);
  } catch (error) {
    work.then(undo, () => undefined);
    throw error;
  } finally {
    signal.removeEventListener("abort", refuse);
  }
}
