/** A bounded amount of something (bytes, sessions) that many share: take it at once or be refused, or wait in line for it. */

export type Budget = {
  /** False when there is not enough left at this moment. */
  tryTake(amount: number): boolean;
  /** Waits in line. An amount larger than the whole is granted alone. */
  take(amount: number, signal?: AbortSignal): Promise<void>;
  give(amount: number): void;
  used(): number;
};

export function createBudget(total: number): Budget {
  let used = 0;
  const line: { amount: number; go(): void }[] = [];
  const fits = (amount: number) => used === 0 || used + amount <= total;

  function advance(): void {
    while (line.length > 0 && fits(line[0]!.amount)) {
      const next = line.shift()!;
      used += next.amount;
      next.go();
    }
  }

  return {
    tryTake(amount) {
      if (line.length > 0 || !fits(amount)) return false;
      used += amount;
      return true;
    },
    async take(amount, signal) {
      signal?.throwIfAborted();
      if (this.tryTake(amount)) return;
      await new Promise<void>((resolve, reject) => {
        const onAbort = () => {
          const at = line.indexOf(place);
          if (at >= 0) line.splice(at, 1);
          reject(signal!.reason);
          advance();
        };
        const place = {
          amount,
          go() {
            signal?.removeEventListener("abort", onAbort);
            resolve();
          },
        };
        line.push(place);
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
