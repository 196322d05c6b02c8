/** `shares` divides what a node has among workspaces and strangers, so that none of them can use it up. This file is the budget: a bounded
 * amount, such as bytes of memory, statements or threads, that owners share. An owner is a workspace or a stranger's network. Owners that
 * wait are served in turn, and a single owner leaves a part to others.
 * Parts: share.ts (the formula), connections.ts (connections to a port), turns.ts, round-robin.ts and cost-queue.ts (whose turn it is),
 * loop-share.ts (time of the event loop), token-bucket.ts (rate limits). Next: share.ts, then turns.ts. */
import { leftFor } from "./share.ts";

export type BudgetOptions = {
  total: number;
  /** An owner may hold this many times the amount that is free: with 3, a single owner gets at most three quarters. By default all. */
  factor?: number;
  /** The most that one owner may hold, however much is free. */
  perOwner?: number;
};

export type Budget = {
  /** Takes the amount at once. False when the owner's share is used up, or when the owner already waits. */
  tryTake(owner: string, amount: number): boolean;
  /** Waits until the owner's share has enough left. An amount larger than the share is granted once the owner holds nothing. */
  take(owner: string, amount: number, signal?: AbortSignal): Promise<void>;
  give(owner: string, amount: number): void;
  /** Takes 1. Resolves to a function that gives it back; calling it again has no effect. */
  place(owner: string, signal?: AbortSignal): Promise<() => void>;
  /** Runs the task while it holds 1. */
  run<T>(owner: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  used(): number;
  heldBy(owner: string): number;
  /** How many calls of the owner wait. Without an owner, of all. */
  waiting(owner?: string): number;
};

type Waiter = { amount: number; grant(): void };

export function createBudget({ total, factor = Number.POSITIVE_INFINITY, perOwner = total }: BudgetOptions): Budget {
  const held = new Map<string, number>();
  /** In serving order: an owner that was served moves to the end. */
  const queues = new Map<string, Waiter[]>();
  const largestShare = Math.min(perOwner, Number.isFinite(factor) ? (total * factor) / (1 + factor) : total);
  /** Until this much is used, an owner that holds nothing gets its whole amount. The last eighth is for small amounts of new owners. */
  const wholeUntil = Number.isFinite(factor) ? (total * 7) / 8 : total;
  let used = 0;

  function fits(owner: string, amount: number): boolean {
    const holds = held.get(owner) ?? 0;
    if (used === 0) return true;
    if (holds === 0 && used + amount <= wholeUntil) return true;
    return holds + amount <= perOwner && amount <= leftFor({ limit: total, used, held: holds, factor });
  }

  function grant(owner: string, amount: number): void {
    used += amount;
    held.set(owner, (held.get(owner) ?? 0) + amount);
  }

  function tryTake(owner: string, amount: number): boolean {
    if (queues.has(owner) || !fits(owner, amount)) return false;
    grant(owner, amount);
    return true;
  }

  /** One grant per owner and round. */
  function serve(): void {
    if (queues.size === 0) return;
    for (let served = true; served; ) {
      served = false;
      for (const [owner, queue] of [...queues]) {
        const { amount } = queue[0]!;
        if (!fits(owner, amount)) {
          // Smaller amounts of others must not overtake an owner that has nothing. An owner that holds its share waits for itself only.
          if (!held.has(owner) && amount <= largestShare) return;
          continue;
        }
        const next = queue.shift()!;
        queues.delete(owner);
        if (queue.length > 0) queues.set(owner, queue);
        grant(owner, next.amount);
        next.grant();
        served = true;
      }
    }
  }

  function wait(owner: string, amount: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = () => {
        const queue = queues.get(owner);
        const at = queue?.indexOf(waiter) ?? -1;
        if (at < 0) return;
        queue!.splice(at, 1);
        if (queue!.length === 0) queues.delete(owner);
        reject(signal!.reason);
        // The next waiter may need less.
        serve();
      };
      const waiter = {
        amount,
        grant() {
          signal?.removeEventListener("abort", cancel);
          resolve();
        },
      };
      const queue = queues.get(owner) ?? [];
      queue.push(waiter);
      queues.set(owner, queue);
      signal?.addEventListener("abort", cancel, { once: true });
    });
  }

  async function take(owner: string, amount: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!tryTake(owner, amount)) await wait(owner, amount, signal);
  }

  function give(owner: string, amount: number): void {
    used -= amount;
    const left = (held.get(owner) ?? 0) - amount;
    if (left > 0) held.set(owner, left);
    else held.delete(owner);
    serve();
  }

  async function place(owner: string, signal?: AbortSignal): Promise<() => void> {
    await take(owner, 1, signal);
    let given = false;
    return () => {
      if (!given) give(owner, 1);
      given = true;
    };
  }

  return {
    tryTake,
    take,
    give,
    place,
    async run(owner, task, signal) {
      const leave = await place(owner, signal);
      try {
        return await task();
      } finally {
        leave();
      }
    },
    used: () => used,
    heldBy: (owner) => held.get(owner) ?? 0,
    waiting: (owner) =>
      owner === undefined
        ? [...queues.values()].reduce((sum, { length }) => sum + length, 0)
        : (queues.get(owner)?.length ?? 0),
  };
}

export type RunOptions = {
  budget: Budget;
  owner: string;
  /** How many tasks of one owner may wait. */
  maxWaiting: number;
  /** The error for a task that may not wait. */
  refusal(): Error;
  /** Ends the wait. */
  signal?: AbortSignal;
};

/** Runs a task in its owner's share of a budget, or refuses it when too many tasks of the owner wait. Used for work that callers start and
 * that takes seconds: keys, domain checks, imports, test posts. */
export async function runOrRefuse<T>(options: RunOptions, task: () => Promise<T>): Promise<T> {
  const { budget, owner, maxWaiting, refusal, signal } = options;
  if (!budget.tryTake(owner, 1)) {
    if (budget.waiting(owner) >= maxWaiting) throw refusal();
    await budget.take(owner, 1, signal);
  }
  try {
    return await task();
  } finally {
    budget.give(owner, 1);
  }
}
