/** A shared, bounded amount of a resource such as bytes or sessions. A caller takes its part at once or waits in a queue. */

export type Budget = {
  /** Returns false when the amount does not fit, or when other callers are already waiting. */
  tryTake(amount: number): boolean;
  /** Waits in order of arrival. An amount larger than the total is granted once the budget is unused. */
  take(amount: number, signal?: AbortSignal): Promise<void>;
  give(amount: number): void;
  used(): number;
};

export function createBudget(total: number): Budget {
  let used = 0;
  const queue: { amount: number; grant(): void }[] = [];
  const fits = (amount: number) => used === 0 || used + amount <= total;

  function advance(): void {
    while (queue.length > 0 && fits(queue[0]!.amount)) {
      const next = queue.shift()!;
      used += next.amount;
      next.grant();
    }
  }

  return {
    tryTake(amount) {
      if (queue.length > 0 || !fits(amount)) return false;
      used += amount;
      return true;
    },
    async take(amount, signal) {
      signal?.throwIfAborted();
      if (this.tryTake(amount)) return;
      await new Promise<void>((resolve, reject) => {
        const onAbort = () => {
          const at = queue.indexOf(waiter);
          if (at >= 0) queue.splice(at, 1);
          reject(signal!.reason);
          advance();
        };
        const waiter = {
          amount,
          grant() {
            signal?.removeEventListener("abort", onAbort);
            resolve();
          },
        };
        queue.push(waiter);
        signal?.addEventListener("abort", onAbort, { once: true });
      });
    },
    give(amount) {
      used -= amount;
      advance();
    },
    used: () => used,
  };
}
