/** A token bucket per key: so many requests at once, so many a second ever after. Time comes in as an argument. */
import { Problem } from "../rules/problem.ts";

export type Rate = { perSecond: number; burst: number };

/** Buckets that are full again say nothing and are dropped when there are more than this. */
const keptBuckets = 10_000;

export function createRateLimit(rate: Rate) {
  const buckets = new Map<string, { tokens: number; atMs: number }>();

  function sweep(nowMs: number): void {
    for (const [key, bucket] of buckets) {
      if (bucket.tokens + ((nowMs - bucket.atMs) / 1000) * rate.perSecond >= rate.burst) buckets.delete(key);
    }
  }

  return {
    /** Takes one token, or throws with the time after which there will be one. */
    take(key: string, nowMs: number): void {
      const bucket = buckets.get(key) ?? { tokens: rate.burst, atMs: nowMs };
      const tokens = Math.min(rate.burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1000) * rate.perSecond);
      if (tokens < 1) {
        const retryAfterMs = Math.ceil(((1 - tokens) / rate.perSecond) * 1000);
        throw new Problem(
          "resource_exhausted",
          `This key made more than ${rate.perSecond} requests per second (burst ${rate.burst}). Try again in ${retryAfterMs} ms.`,
          {
            retryAfterMs,
          },
        );
      }
      buckets.set(key, { tokens: tokens - 1, atMs: nowMs });
      if (buckets.size > keptBuckets) sweep(nowMs);
    },
    size: () => buckets.size,
  };
}
