/** The three plots of the overview, from one GetStats response. */
import { SimpleGrid } from "@mantine/core";
import type { GetStatsResponse, StatsCounts } from "../../../src/gen/v1/stats_pb.ts";
import { BarPlot, LinePlot, type Series, type SeriesKind } from "./plot.tsx";
import { bucketName, type Range, shortName } from "./ranges.ts";
import { countCeiling, durationCeiling, formatCompact, formatCount, formatDuration, formatShare } from "./scale.ts";

export function Plots({ stats, range }: { stats: GetStatsResponse; range: Range }) {
  const { buckets } = stats;
  const starts = buckets.flatMap(({ start }) => (start ? [start] : []));
  const tickStarts = [starts[0], starts[Math.floor(starts.length / 2)], starts.at(-1)];
  const axis = {
    labels: starts.map((start) => bucketName(start, range)),
    ticks: tickStarts.flatMap((start) => (start ? [shortName(start, range)] : [])),
  };
  const counted = (kind: SeriesKind, name: string, read: (counts: StatsCounts) => number): Series => ({
    kind,
    name,
    total: formatCount(of(stats.totals, read)),
    values: buckets.map(({ counts }) => of(counts, read)),
  });
  const timed = (kind: SeriesKind, name: string, read: (counts: StatsCounts) => number | undefined): Series => {
    const total = stats.totals && read(stats.totals);
    return {
      kind,
      name,
      total: total === undefined ? "none" : formatDuration(total),
      values: buckets.map(({ counts }) => counts && read(counts)),
    };
  };
  const accepted = counted("accepted", "Accepted", (counts) => counts.accepted);
  const delivered = counted("delivered", "Delivered", deliveredIn);
  const share = formatShare(
    of(stats.totals, deliveredIn),
    of(stats.totals, (counts) => counts.accepted),
  );
  const throughput = [accepted, { ...delivered, total: share ? `${delivered.total} (${share})` : delivered.total }];
  const failures = [
    counted("bounced", "Bounced", (counts) => counts.bounced),
    counted("delayed", "Delayed", (counts) => counts.delayed),
    counted("complained", "Complaints", (counts) => counts.complained),
  ];
  const times = [
    timed("p50", "Median (p50)", (counts) => counts.deliveryP50Ms),
    timed("p95", "p95", (counts) => counts.deliveryP95Ms),
  ];
  return (
    <SimpleGrid cols={{ base: 1, md: 3 }} spacing="xl">
      <BarPlot title="Accepted and delivered" series={throughput} {...counts(throughput)} {...axis} />
      <BarPlot title="Bounced, delayed, complained" series={failures} {...counts(failures)} {...axis} />
      <LinePlot
        title="Delivery time"
        series={times}
        format={formatDuration}
        ceiling={durationCeiling(all(times))}
        {...axis}
      />
    </SimpleGrid>
  );
}

/** Mail that a relay accepted counts as delivered, because Posthorn cannot see further. */
export function deliveredIn({ delivered, sent }: StatsCounts): number {
  return delivered + sent;
}

function of(counts: StatsCounts | undefined, read: (counts: StatsCounts) => number): number {
  return counts ? read(counts) : 0;
}

function counts(series: readonly Series[]) {
  return { ceiling: countCeiling(all(series)), format: formatCompact };
}

function all(series: readonly Series[]): number[] {
  return series.flatMap(({ values }) => values.filter((value) => value !== undefined));
}
