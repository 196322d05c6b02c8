/** When a deferred recipient is tried again, and when there is no time left for that. Delivery asks after each attempt. */

const minute = 60_000;
const hour = 60 * minute;

/** The wait after the first attempt, the second, and so on; the last one repeats. */
export const defaultScheduleMs: readonly number[] = [
  30_000,
  2 * minute,
  5 * minute,
  15 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
];

/** How long an email is tried unless it says otherwise. */
export const defaultLifetimeMs = 48 * hour;

/** Each wait is up to this much shorter or longer, so that messages deferred together do not come back together. */
export const jitter = 0.2;

export interface RetryFacts {
  /** Attempts made so far, the one just ended included. */
  attempts: number;
  now: Date;
  expiresAt: Date;
  /** In [0, 1). */
  random: () => number;
  scheduleMs?: readonly number[];
}

/** `expired` as soon as no further attempt fits before the end: a sender is better told now than after a wait that changes nothing. */
export function nextAttempt(facts: RetryFacts): { at: Date } | { expired: true } {
  const { attempts, now, expiresAt, random, scheduleMs = defaultScheduleMs } = facts;
  const wait = scheduleMs[Math.min(Math.max(attempts, 1), scheduleMs.length) - 1] ?? 0;
  const at = new Date(now.getTime() + Math.round(wait * (1 - jitter + 2 * jitter * random())));
  return at < expiresAt ? { at } : { expired: true };
}
