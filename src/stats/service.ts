/**
 * Statistics: a workspace's mail counted by hour, by receiving site and by other dimensions, and alerts about its rates. count-loop.ts counts
 * new mail with store/fold.ts, alert-loop.ts raises alerts, store/stats.ts and store/groups.ts read the counts, rules.ts and rules/ have the
 * arithmetic. This file has the RPCs of StatsService. Read store/fold.ts next.
 */
import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { actorOf, audited } from "../audit/record.ts";
import { type GetStatsRequest, StatsBucketSize, StatsDimension, StatsService } from "../gen/v1/stats_pb.ts";
import { serve } from "../http/call.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid, type Violation } from "../ops/problem.ts";
import { toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { rateLimits } from "./rules/rates.ts";
import {
  addCounts,
  type BucketHours,
  bucketStarts,
  type Counts,
  keepLargest,
  metadataDimension,
  noCounts,
  otherValues,
  statsSpan,
  valuesKept,
} from "./rules.ts";
import { readAlerts } from "./store/alerts.ts";
import { keyNames, statsByValue } from "./store/groups.ts";
import { readSettings, updateSettings } from "./store/settings.ts";
import { countedUntil, type Span, statsByBucket, statsBySite } from "./store/stats.ts";
import { alertOnWire, changeFrom, countsOnWire, settingsOnWire } from "./wire.ts";

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
      const problems = groupProblems(request);
      if (problems.length > 0) throw invalid(problems);
      const range = { workspaceId, from: new Date(span.fromMs), to: new Date(span.toMs) };
      // Read before the counts: they may include later mail, but never miss mail from before `asOf`.
      const asOf = await countedUntil(sql, workspaceId, nowMs);
      const [buckets, sites, alerts] = await Promise.all([
        statsByBucket(sql, range, span.bucketHours),
        statsBySite(sql, range),
        readAlerts(sql, workspaceId),
      ]);
      return {
        from: timestampFromMs(span.fromMs),
        to: timestampFromMs(span.toMs),
        bucket: sizeOf[span.bucketHours],
        asOf: timestampFromMs(asOf),
        totals: countsOnWire([...buckets.values()].reduce(addCounts, noCounts())),
        buckets: bucketStarts(span).map((startMs) => ({
          start: timestampFromMs(startMs),
          counts: countsOnWire(buckets.get(startMs) ?? noCounts()),
        })),
        sites: [...keepLargest(sites)].map(([site, counts]) => ({ site, counts: countsOnWire(counts) })),
        groups: await readGroups(sql, range, request, sites),
        limits: rateLimits,
        alerts: alerts.map(alertOnWire),
      };
    },

    async getStatsSettings(_request, call) {
      return { settings: settingsOnWire(await readSettings(sql, call.caller.workspaceId)) };
    },

    async updateStatsSettings(request, call) {
      const problems: Violation[] = [];
      const change = changeFrom(request, problems);
      if (problems.length > 0) throw invalid(problems);
      call.beginWrite();
      const { workspaceId } = call.caller;
      const fields = (["metadataKeys", "bounceAlert", "complaintAlert"] as const).filter((name) => request[name]);
      const settings = await audited(
        sql,
        actorOf(call.caller),
        (tx) => updateSettings(tx, workspaceId, change),
        () => ({
          action: "stats.settings_changed",
          workspaceId,
          target: { kind: "workspace", id: workspaceId },
          fields,
        }),
      );
      return { settings: settingsOnWire(settings) };
    },
  });
}

function groupProblems({ groupBy, metadataKey }: GetStatsRequest): Violation[] {
  const isNeeded = groupBy === StatsDimension.METADATA;
  if (isNeeded && metadataKey === "")
    return [
      {
        field: "metadataKey",
        description: "is required to group by metadata; GetStatsSettings returns the counted keys",
      },
    ];
  if (!isNeeded && metadataKey !== "")
    return [{ field: "metadataKey", description: "requires groupBy: STATS_DIMENSION_METADATA" }];
  return [];
}

async function readGroups(sql: Sql, range: Span, request: GetStatsRequest, sites: ReadonlyMap<string, Counts>) {
  switch (request.groupBy) {
    case StatsDimension.SITE:
      return groupsOnWire(
        new Map([...sites].map(([site, counts]) => [site === otherValues ? site : `=${site}`, counts])),
      );
    case StatsDimension.DOMAIN:
      return groupsOnWire(await statsByValue(sql, range, "domain"));
    case StatsDimension.METADATA:
      return groupsOnWire(await statsByValue(sql, range, metadataDimension(request.metadataKey)));
    case StatsDimension.KEY: {
      const groups = groupsOnWire(await statsByValue(sql, range, "key"));
      const names = await keyNames(
        sql,
        range.workspaceId,
        groups.flatMap(({ value }) => (value === "" ? [] : [value])),
      );
      return groups.map((group) =>
        group.value === ""
          ? group
          : { ...group, value: toWireId("key", group.value), name: names.get(group.value) ?? "" },
      );
    }
    default:
      return [];
  }
}

function groupsOnWire(values: ReadonlyMap<string, Counts>) {
  return [...keepLargest(values, valuesKept)].map(([stored, counts]) => {
    const other = stored === otherValues;
    return { value: other ? "" : stored.slice(1), name: "", other, counts: countsOnWire(counts) };
  });
}

function msOf(time: Timestamp | undefined): number | undefined {
  return time && timestampMs(time);
}
