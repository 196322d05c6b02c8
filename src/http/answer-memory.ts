/** The memory of large answers, shared by workspace: counted from before a handler loads the content until the client has taken the answer.
 * Without it, a client that requests large content and does not read it fills the memory. Called by unary-json.ts and router.ts. */
import { Problem } from "../ops/problem.ts";
import { createBudget } from "../shares/budget.ts";
import { onlyProcess, partOf } from "../shares/process-part.ts";
import type { Cancellation } from "./call.ts";

export type AnswerMemory = {
  open(owner: string, cancellation: Cancellation): AnswerHold;
  usedBytes(): number;
};

/** The memory of one call's answer. */
export type AnswerHold = {
  /**
   * Holds this many bytes instead of what was held before. Waits in turn for the owner's share, and throws `resource_exhausted` when
   * that takes too long. `isLoaded`: the bytes are in memory already, so only a few may wait, and none that has
   * reserved memory before: it keeps that when there is no more. After `release` it throws, so that a
   * handler whose call has ended does not load content that is not counted.
   */
  hold(bytes: number, options?: { isLoaded: boolean }): Promise<void>;
  heldBytes(): number;
  /** Called when the client has taken the answer or is gone. */
  release(): void;
};

/** Smaller answers are not counted. */
export const largeAnswerBytes = 64 * 1024;

const limits = {
  totalBytes: 128 * 1024 * 1024,
  /** One workspace may hold half. A larger answer counts as a half, and is granted when the workspace holds nothing. */
  factor: 1,
  waitMs: 10_000,
  /** Calls of one workspace that wait with their answer in memory, and without. */
  loadedWaiters: 4,
  waiters: 100,
  retryAfterMs: 2_000,
};

export type AnswerLimits = typeof limits;

export function createAnswerMemory(options: Partial<AnswerLimits> = {}, part = onlyProcess): AnswerMemory {
  const { factor, waitMs, loadedWaiters, waiters, retryAfterMs, ...of } = { ...limits, ...options };
  const totalBytes = partOf(of.totalBytes, part);
  const share = Math.floor((totalBytes * factor) / (1 + factor));
  const memory = createBudget({ total: totalBytes, factor });
  /** How many calls of an owner wait with their answer in memory. */
  const loadedWaiting = new Map<string, number>();

  async function take(owner: string, bytes: number, isLoaded: boolean, cancellation: Cancellation): Promise<void> {
    if (memory.tryTake(owner, bytes)) return;
    const loaded = loadedWaiting.get(owner) ?? 0;
    const isFull = isLoaded ? loaded >= loadedWaiters : memory.waiting(owner) - loaded >= waiters;
    if (isFull) throw exhausted(retryAfterMs);
    if (isLoaded) loadedWaiting.set(owner, loaded + 1);
    const late = AbortSignal.timeout(waitMs);
    try {
      await memory.take(owner, bytes, AbortSignal.any([late, cancellation.signal]));
    } catch {
      throw cancellation.reason() ?? exhausted(retryAfterMs);
    } finally {
      if (isLoaded) endLoadedWait(owner);
    }
  }

  function endLoadedWait(owner: string): void {
    const left = loadedWaiting.get(owner)! - 1;
    if (left > 0) loadedWaiting.set(owner, left);
    else loadedWaiting.delete(owner);
  }

  return {
    open(owner, cancellation) {
      let held = 0;
      let released = false;

      function give(bytes: number): void {
        if (bytes > 0) memory.give(owner, bytes);
        held -= bytes;
      }

      function requireOpen(): void {
        if (released)
          throw cancellation.reason() ?? new Problem("aborted", "The call ended before its answer was sent.");
      }

      return {
        async hold(bytes, { isLoaded } = { isLoaded: false }) {
          requireOpen();
          const wanted = bytes > largeAnswerBytes ? Math.min(Math.ceil(bytes), share) : 0;
          if (wanted <= held) return give(held - wanted);
          if (isLoaded && held > 0) {
            // The content is in memory already. A refusal now would only make the client load it again.
            if (memory.tryTake(owner, wanted - held)) held = wanted;
            return;
          }
          // Two calls that each hold a part and wait for more would wait for each other.
          give(held);
          await take(owner, wanted, isLoaded, cancellation);
          held = wanted;
          // The client left during the wait.
          if (released) give(held);
          requireOpen();
        },
        heldBytes: () => held,
        release() {
          released = true;
          give(held);
        },
      };
    },
    usedBytes: memory.used,
  };
}

function exhausted(retryAfterMs: number): Problem {
  return new Problem(
    "resource_exhausted",
    "Large answers of this workspace have not been read yet, and the memory for them is used up. Read them, then retry.",
    { retryAfterMs },
  );
}
