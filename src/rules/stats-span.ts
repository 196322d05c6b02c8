/** Which buckets of time a question about the past asks for: whole ones, in UTC. */
import type { Violation } from "./problem.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const maxBuckets = 800;

export type BucketHours = 1 | 6 | 24;
export type StatsSpan = { fromMs: number; toMs: number; bucketHours: BucketHours };

export type AskedSpan = { fromMs: number | undefined; toMs: number | undefined; bucketHours: BucketHours | undefined };

export function statsSpan(asked: AskedSpan, nowMs: number): StatsSpan | Violation[] {
  const toMs = asked.toMs ?? nowMs;
  const fromMs = asked.fromMs ?? toMs - dayMs;
  if (fromMs >= toMs)
    return [{ field: "from", description: "must be before `to`; leave both out for the last 24 hours" }];
  const bucketHours = asked.bucketHours ?? fitting(toMs - fromMs);
  const bucketMs = bucketHours * hourMs;
  const span = {
    ...{ fromMs: Math.floor(fromMs / bucketMs) * bucketMs, toMs: Math.ceil(toMs / bucketMs) * bucketMs },
    bucketHours,
  };
  const buckets = (span.toMs - span.fromMs) / bucketMs;
  if (buckets <= maxBuckets) return span;
  const description = `asks for ${buckets} buckets and ${maxBuckets} is the most; ask for larger ones or a shorter span`;
  return [{ field: "bucket", description }];
}

/** Unasked: enough buckets to see the course of things, and not too many. */
function fitting(lengthMs: number): BucketHours {
  if (lengthMs <= 2 * dayMs) return 1;
  return lengthMs <= 14 * dayMs ? 6 : 24;
}

/** The beginnings of all buckets. */
export function bucketStarts({ fromMs, toMs, bucketHours }: StatsSpan): number[] {
  const bucketMs = bucketHours * hourMs;
  return Array.from({ length: (toMs - fromMs) / bucketMs }, (_, i) => fromMs + i * bucketMs);
}
