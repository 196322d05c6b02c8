/** A bounded amount of a resource that several owners share, such as memory or lookups. Owners that wait are served in turn, and a single
 * owner leaves a part of the budget to others. */
import { leftFor } from "./share.ts";

export type FairBudget = {
  /** Waits until the owner's share has enough left. An amount larger than the share is granted once the owner holds nothing. */
  take(owner: string, amount: number, signal: AbortSignal): Promise<void>;
  give(owner: string, amount: number): void;
  /** Whether a caller waits. */
  contended(): boolean;
};

type Waiter = { amount: number; grant(): void };

/** `factor`: an owner may hold this many times the amount that is free: with 3, a single owner gets at most three quarters. */
export function createFairBudget(total: number, factor: number): FairBudget {
  const held = new Map<string, number>();
  /** In serving order: an owner that was served moves to the end. */
  const waiting = new Map<string, Waiter[]>();
  const largestShare = (total * factor) / (1 + factor);
  let used = 0;

  function fits(owner: string, amount: number): boolean {
    const holds = held.get(owner) ?? 0;
    if (used === 0) return true;
    if (holds === 0 && used + amount <= total) return true;
    return amount <= leftFor({ limit: total, used, held: holds, factor });
  }

  function take(owner: string, amount: number): void {
    used += amount;
    held.set(owner, (held.get(owner) ?? 0) + amount);
  }

  /** One grant per owner and round. */
  function serve(): void {
    for (let served = true; served; ) {
      served = false;
      for (const [owner, waiters] of [...waiting]) {
        const { amount } = waiters[0]!;
        if (!fits(owner, amount)) {
          // Smaller amounts of others must not overtake for ever.
          if ((held.get(owner) ?? 0) + amount <= largestShare) return;
          continue;
        }
        const next = waiters.shift()!;
        waiting.delete(owner);
        if (waiters.length > 0) waiting.set(owner, waiters);
        take(owner, next.amount);
        next.grant();
        served = true;
      }
    }
  }

  return {
    async take(owner, amount, signal) {
      signal.throwIfAborted();
      if (!waiting.has(owner) && fits(owner, amount)) return take(owner, amount);
      await new Promise<void>((resolve, reject) => {
        const waiters = waiting.get(owner) ?? [];
        const cancel = () => {
          const ofOwner = waiting.get(owner);
          const at = ofOwner?.indexOf(waiter) ?? -1;
          if (at < 0) return;
          ofOwner!.splice(at, 1);
          if (ofOwner!.length === 0) waiting.delete(owner);
          reject(signal.reason);
          // The next waiter of this owner may need less.
          serve();
        };
        const grant = () => {
          signal.removeEventListener("abort", cancel);
          resolve();
        };
        const waiter = { amount, grant };
        waiters.push(waiter);
        waiting.set(owner, waiters);
        signal.addEventListener("abort", cancel, { once: true });
      });
    },
    give(owner, amount) {
      used -= amount;
      const left = (held.get(owner) ?? 0) - amount;
      if (left > 0) held.set(owner, left);
      else held.delete(owner);
      serve();
    },
    contended: () => waiting.size > 0,
  };
}
