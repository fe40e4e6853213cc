/** Returns a function that runs the tasks passed to it, at most `limit` at a time; the others wait in order. */
export function limitConcurrency(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
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
export function limitConcurrencyPerKey(limit: number): <T>(key: number, work: () => Promise<T>) => Promise<T> {
  const limiters = new Map<number, { run: ReturnType<typeof limitConcurrency>; users: number }>();
  return async (key, work) => {
    const limiter = limiters.get(key) ?? { run: limitConcurrency(limit), users: 0 };
    limiters.set(key, limiter);
    limiter.users += 1;
    try {
      return await limiter.run(work);
    } finally {
      limiter.users -= 1;
      if (limiter.users === 0) limiters.delete(key);
    }
  };
}
