/** A few slots that owners share round-robin, so that an owner with many waiting tasks delays another owner by at most one task per slot.
 * Event streams use it for the statements and the writes of readers that catch up (events/catch-up.ts). */
import { createRoundRobin } from "./round-robin.ts";

export type FairLimit = {
  /** Resolves to a function that releases the slot; calling it again has no effect. */
  take(owner: string): Promise<() => void>;
  run<T>(owner: string, task: () => Promise<T>): Promise<T>;
};

export function createFairLimit(slots: number): FairLimit {
  const waiting = createRoundRobin<() => void>();
  let free = slots;

  function releaseOnce(): () => void {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      // The slot passes directly to the next waiter. If it were freed first, a new task could overtake the queue.
      const grant = waiting.next();
      if (grant) grant();
      else free += 1;
    };
  }

  async function take(owner: string): Promise<() => void> {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.add(owner, resolve));
    return releaseOnce();
  }

  return {
    take,
    async run(owner, task) {
      const release = await take(owner);
      try {
        return await task();
      } finally {
        release();
      }
    },
  };
}
