/** Lets a bounded number of tasks run at once; the others wait their turn, in order. */

export type Gate = { run<T>(task: () => Promise<T>): Promise<T> };

export function createGate(limit: number): Gate {
  let running = 0;
  const waiting: (() => void)[] = [];
  return {
    async run(task) {
      if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
      else running += 1;
      try {
        return await task();
      } finally {
        // A place is handed on rather than freed, so that a newcomer cannot slip in before those who wait.
        const next = waiting.shift();
        if (next) next();
        else running -= 1;
      }
    },
  };
}
