/** StatsService: a workspace's mail counted over time, in all and by receiving site. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { StatsBucketSize, type StatsCountsSchema, StatsService } from "../gen/v1/stats_pb.ts";
import { invalid } from "../rules/problem.ts";
import { addCounts, type Counts, keepLargest, noCounts } from "../rules/stats.ts";
import { type BucketHours, bucketStarts, statsSpan } from "../rules/stats-span.ts";
import { quantile } from "../rules/stats-times.ts";
import type { Clock } from "../store/clock.ts";
import type { Sql } from "../store/db.ts";
import { countedUntil, statsByBucket, statsBySite } from "../store/stats.ts";
import { serve } from "./service.ts";

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
      const asked = { fromMs: msOf(request.from), toMs: msOf(request.to), bucketHours: hoursOf[request.bucket] };
      const span = statsSpan(asked, nowMs);
      if (Array.isArray(span)) throw invalid(span);
      const at = { workspaceId, from: new Date(span.fromMs), to: new Date(span.toMs) };
      // Before the counts are read: they may hold more than this says, and never less.
      const asOf = await countedUntil(sql, workspaceId, nowMs);
      const [buckets, sites] = await Promise.all([statsByBucket(sql, at, span.bucketHours), statsBySite(sql, at)]);
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

function msOf(moment: Timestamp | undefined): number | undefined {
  return moment && timestampMs(moment);
}

/** The contract's numbers have 32 bits. */
const most = 2 ** 31 - 1;

function onWire({ times, ...counts }: Counts): MessageInitShape<typeof StatsCountsSchema> {
  const fitting = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Math.min(count, most)]));
  return { ...fitting, deliveryP50Ms: quantile(times, 0.5), deliveryP95Ms: quantile(times, 0.95) };
}
