/** Runs a task in its owner's share of a budget, or refuses it when too many tasks of the owner wait. Used for work that callers start and
 * that takes seconds: keys, domain checks, imports, test posts. */
import type { Budget } from "./budget.ts";

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
