/** The time ranges of the overview, their GetStats requests, and the names of their buckets. */
import { type Timestamp, timestampDate, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { StatsBucketSize } from "../../../src/gen/v1/stats_pb.ts";

const hourMs = 3_600_000;

export interface Range {
  id: string;
  name: string;
  /** As in "no mail in the last 7 days". */
  words: string;
  hours: number;
  bucketHours: number;
  bucket: StatsBucketSize;
}

const day: Range = {
  id: "24h",
  name: "Last 24 hours",
  words: "last 24 hours",
  hours: 24,
  bucketHours: 1,
  bucket: StatsBucketSize.HOUR,
};

export const ranges: readonly Range[] = [
  day,
  {
    id: "7d",
    name: "Last 7 days",
    words: "last 7 days",
    hours: 7 * 24,
    bucketHours: 6,
    bucket: StatsBucketSize.SIX_HOURS,
  },
  {
    id: "30d",
    name: "Last 30 days",
    words: "last 30 days",
    hours: 30 * 24,
    bucketHours: 24,
    bucket: StatsBucketSize.DAY,
  },
];

export function rangeOf(id: string | undefined): Range {
  return ranges.find((range) => range.id === id) ?? day;
}

/** A request for complete buckets up to and including the current one. It stays the same until the next bucket starts. */
export function requestOf(range: Range, nowMs: number): { from: Timestamp; to: Timestamp; bucket: StatsBucketSize } {
  const bucketMs = range.bucketHours * hourMs;
  const toMs = (Math.floor(nowMs / bucketMs) + 1) * bucketMs;
  return {
    from: timestampFromMs(toMs - range.hours * hourMs),
    to: timestampFromMs(toMs),
    bucket: range.bucket,
  };
}

/** The end of a bucket. */
export function bucketEnd(start: Timestamp, { bucketHours }: Range): Timestamp {
  return timestampFromMs(timestampMs(start) + bucketHours * hourMs);
}

const hours = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const daysAndHours = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
// Days start at midnight UTC. In local time, some would have the name of the previous day.
const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** The name of a bucket by its start, in local time except for days. */
export function bucketName(start: Timestamp, { bucketHours }: Range): string {
  return (bucketHours === 24 ? days : daysAndHours).format(timestampDate(start));
}

/** A short name for the axis. */
export function shortName(start: Timestamp, { bucketHours }: Range): string {
  return (bucketHours === 1 ? hours : days).format(timestampDate(start));
}
