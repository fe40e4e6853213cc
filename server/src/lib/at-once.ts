/** Runs at most `limit` of the given tasks at a time; the others wait in order. */
export function atOnce(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running < limit) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The slot goes to the next task, or becomes free.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/** The same with a separate limit for each key. */
export function atOncePerKey(limit: number): <T>(key: number, work: () => Promise<T>) => Promise<T> {
  const turns = new Map<number, { inTurn: ReturnType<typeof atOnce>; users: number }>();
  return async (key, work) => {
    const turn = turns.get(key) ?? { inTurn: atOnce(limit), users: 0 };
    turns.set(key, turn);
    turn.users += 1;
    try {
      return await turn.inTurn(work);
    } finally {
      turn.users -= 1;
      if (turn.users === 0) turns.delete(key);
    }
  };
}
