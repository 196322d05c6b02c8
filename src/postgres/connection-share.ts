/** Shares the pool's connections between the workspaces that call the API: the slow calls of one workspace must not take all of them.
 * sql.ts asks it before each connection. Loops and batches of several calls have no owner and go to the pool directly. */
import { setMaxListeners } from "node:events";
import { Problem } from "../ops/problem.ts";
import { createBudget } from "../shares/budget.ts";
import { currentCall } from "./call-scope.ts";

export type ConnectionShare = {
  /** Waits for the share of the call in progress. Resolves to a function that gives the place back. */
  take(): Promise<() => void>;
  /** How many statements wait for the share of their workspace. */
  waiting(): number;
};

/** Connections that calls leave to loops and batches. */
const reserved = 2;
/** A workspace may hold this many times the number of free connections: with 10 in the pool, 5 if it is the only one. */
const factor = 2;
/** Shorter than the wait for the pool itself, which counts as an outage. */
const defaultWaitMs = 10_000;
const retryAfterMs = 1_000;

const free = () => {};

export function createConnectionShare(pool: number, waitMs = defaultWaitMs): ConnectionShare {
  const connections = createBudget({ total: Math.max(1, pool - reserved), factor });
  /** One signal for all waits that start within a tenth of the limit: a timer for each would cost as much as a short statement. */
  let late = { signal: AbortSignal.abort(), untilMs: Number.NEGATIVE_INFINITY };
  return { take, waiting: () => connections.waiting() };

  async function take(): Promise<() => void> {
    const call = currentCall();
    // A call that has stored something must not be refused before its end.
    if (call?.owner === undefined || call.committed > 0) return free;
    const { owner } = call;
    if (!connections.tryTake(owner, 1)) await wait(owner);
    return () => connections.give(owner, 1);
  }

  function lateSignal(): AbortSignal {
    const nowMs = performance.now();
    if (nowMs < late.untilMs) return late.signal;
    late = { signal: AbortSignal.timeout(waitMs), untilMs: nowMs + waitMs / 10 };
    setMaxListeners(0, late.signal);
    return late.signal;
  }

  async function wait(owner: string): Promise<void> {
    await connections.take(owner, 1, lateSignal()).catch(() => {
      throw new Problem(
        "resource_exhausted",
        "Too many calls of this workspace wait for the database. Make fewer calls at the same time, and retry in a second.",
        { retryAfterMs },
      );
    });
  }
}
