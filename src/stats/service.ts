/**
 * Statistics: a workspace's mail counted by hour and by receiving site. count-loop.ts counts new mail with store/fold.ts,
 * store/stats.ts reads the counts, rules.ts has the arithmetic. This file has the RPC of StatsService. Read store/fold.ts next.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { StatsBucketSize, type StatsCountsSchema, StatsService } from "../gen/v1/stats_pb.ts";
import { serve } from "../http/call.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import {
  addCounts,
  type BucketHours,
  bucketStarts,
  type Counts,
  keepLargest,
  noCounts,
  quantile,
  statsSpan,
} from "./rules.ts";
import { countedUntil, statsByBucket, statsBySite } from "./store/stats.ts";

const hoursOf: Partial<Record<StatsBucketSize, BucketHours>> = {
  [StatsBucketSize.HOUR]: 1,
  [StatsBucketSize.SIX_HOURS]: 6,
  [StatsBucketSize.DAY]: 24,
};
const sizeOf = { 1: StatsBucketSize.HOUR, 6: StatsBucketSize.SIX_HOURS, 24: StatsBucketSize.DAY } as const;

export function createStatsService({ sql, clock }: { sql: Sql; clock: Clock }) {
  return serve(StatsService, {
    async getStats(request, call) {
      const nowMs = clock.nowMs();
      const { workspaceId } = call.caller;
      const requested = { fromMs: msOf(request.from), toMs: msOf(request.to), bucketHours: hoursOf[request.bucket] };
      const span = statsSpan(requested, nowMs);
      if (Array.isArray(span)) throw invalid(span);
      const range = { workspaceId, from: new Date(span.fromMs), to: new Date(span.toMs) };
      // Read before the counts: they may include later mail, but never miss mail from before `asOf`.
      const asOf = await countedUntil(sql, workspaceId, nowMs);
      const [buckets, sites] = await Promise.all([
        statsByBucket(sql, range, span.bucketHours),
        statsBySite(sql, range),
      ]);
      return {
        from: timestampFromMs(span.fromMs),
        to: timestampFromMs(span.toMs),
        bucket: sizeOf[span.bucketHours],
        asOf: timestampFromMs(asOf),
        totals: onWire([...buckets.values()].reduce(addCounts, noCounts())),
        buckets: bucketStarts(span).map((startMs) => ({
          start: timestampFromMs(startMs),
          counts: onWire(buckets.get(startMs) ?? noCounts()),
        })),
        sites: [...keepLargest(sites)].map(([site, counts]) => ({ site, counts: onWire(counts) })),
      };
    },
  });
}

function msOf(time: Timestamp | undefined): number | undefined {
  return time && timestampMs(time);
}

/** The contract's numbers have 32 bits. */
const maxCount = 2 ** 31 - 1;

function onWire({ times, ...counts }: Counts): MessageInitShape<typeof StatsCountsSchema> {
  const capped = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Math.min(count, maxCount)]));
  return { ...capped, deliveryP50Ms: quantile(times, 0.5), deliveryP95Ms: quantile(times, 0.95) };
}
