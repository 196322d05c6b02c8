/** The three plots of the overview, from one answer of GetStats. */
import { SimpleGrid } from "@mantine/core";
import type { GetStatsResponse, StatsCounts } from "../../../src/gen/v1/stats_pb.ts";
import { BarPlot, LinePlot, type Look, type Series } from "../plots/plot.tsx";
import { countCeiling, durationCeiling, sayCount, sayDuration, sayShare, sayShort } from "../plots/scale.ts";
import { bucketName, type Range, shortName } from "./ranges.ts";

export function Plots({ stats, range }: { stats: GetStatsResponse; range: Range }) {
  const { buckets } = stats;
  const starts = buckets.flatMap(({ start }) => (start ? [start] : []));
  const ends = [starts[0], starts[Math.floor(starts.length / 2)], starts.at(-1)];
  const axis = {
    labels: starts.map((start) => bucketName(start, range)),
    ends: ends.flatMap((start) => (start ? [shortName(start, range)] : [])),
  };
  const counted = (look: Look, name: string, read: (counts: StatsCounts) => number): Series => ({
    ...{ look, name, total: sayCount(of(stats.totals, read)) },
    values: buckets.map(({ counts }) => of(counts, read)),
  });
  const timed = (look: Look, name: string, read: (counts: StatsCounts) => number | undefined): Series => {
    const total = stats.totals && read(stats.totals);
    return {
      ...{ look, name, total: total === undefined ? "none" : sayDuration(total) },
      values: buckets.map(({ counts }) => counts && read(counts)),
    };
  };
  const accepted = counted("accepted", "Accepted", (counts) => counts.accepted);
  const delivered = counted("delivered", "Delivered", deliveredIn);
  const share = sayShare(
    of(stats.totals, deliveredIn),
    of(stats.totals, (counts) => counts.accepted),
  );
  const through = [accepted, { ...delivered, total: share ? `${delivered.total} (${share})` : delivered.total }];
  const troubles = [
    counted("bounced", "Bounced", (counts) => counts.bounced),
    counted("delayed", "Delayed", (counts) => counts.delayed),
    counted("complained", "Complaints", (counts) => counts.complained),
  ];
  const times = [
    timed("half", "Half within", (counts) => counts.deliveryP50Ms),
    timed("most", "95% within", (counts) => counts.deliveryP95Ms),
  ];
  return (
    <SimpleGrid cols={{ base: 1, md: 3 }} spacing="xl">
      <BarPlot title="Accepted and delivered" series={through} {...counts(through)} {...axis} />
      <BarPlot title="Bounced, delayed, complained" series={troubles} {...counts(troubles)} {...axis} />
      <LinePlot
        title="Delivery time"
        series={times}
        say={sayDuration}
        ceiling={durationCeiling(all(times))}
        {...axis}
      />
    </SimpleGrid>
  );
}

/** Handing over to a relay is as far as Posthorn can bring it there. */
export function deliveredIn({ delivered, sent }: StatsCounts): number {
  return delivered + sent;
}

function of(counts: StatsCounts | undefined, read: (counts: StatsCounts) => number): number {
  return counts ? read(counts) : 0;
}

function counts(series: readonly Series[]) {
  return { ceiling: countCeiling(all(series)), say: sayShort };
}

function all(series: readonly Series[]): number[] {
  return series.flatMap(({ values }) => values.filter((value) => value !== undefined));
}
