/** Runs at most `limit` tasks at once. Further tasks wait in order of arrival. */

export type ConcurrencyLimit = { run<T>(task: () => Promise<T>): Promise<T> };

export function createConcurrencyLimit(limit: number): ConcurrencyLimit {
  let running = 0;
  const waiting: (() => void)[] = [];
  return {
    async run(task) {
      if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
      else running += 1;
      try {
        return await task();
      } finally {
        // The slot passes directly to the first waiter. If it were freed first, a new task could overtake the queue.
        const next = waiting.shift();
        if (next) next();
        else running -= 1;
      }
    },
  };
}
