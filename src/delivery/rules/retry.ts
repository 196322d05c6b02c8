/** Computes when a deferred recipient is retried, or that it expires first. The judge calls it after each attempt. */

/** Each wait is up to this much shorter or longer, so that messages deferred together are not retried together. */
export const jitter = 0.2;

export interface RetryFacts {
  /** Attempts so far, including the one that just ended. */
  attempts: number;
  /** The time until the email expires. */
  leftMs: number;
  /** In [0, 1). */
  random: () => number;
  /** The wait after the first attempt, the second, and so on; the last one repeats (POSTHORN_RETRY_SCHEDULE_MS). */
  scheduleMs: readonly number[];
}

/** `expired` when the email expires before the next attempt, so that the sender learns of the bounce without a pointless wait. */
export function nextAttempt(facts: RetryFacts): { waitMs: number } | { expired: true } {
  const { attempts, leftMs, random, scheduleMs } = facts;
  const wait = scheduleMs[Math.min(Math.max(attempts, 1), scheduleMs.length) - 1] ?? 0;
  const waitMs = Math.round(wait * (1 - jitter + 2 * jitter * random()));
  return waitMs < leftMs ? { waitMs } : { expired: true };
}
