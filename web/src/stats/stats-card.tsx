/** Statistics on the overview: accepted and delivered mail, failures, delivery times, and receiving sites. */
import { useQuery } from "@connectrpc/connect-query";
import { Group, SegmentedControl, Skeleton, Stack, Text } from "@mantine/core";
import { keepPreviousData } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type GetStatsResponse, StatsService } from "../../../src/gen/v1/stats_pb.ts";
import { AnchorLink } from "../parts/links.tsx";
import { Section } from "../parts/page.tsx";
import { ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { FiguresTable, SitesTable } from "./figures.tsx";
import { Plots } from "./plots.tsx";
import { type Range, rangeOf, ranges, requestOf } from "./ranges.ts";

const route = getRouteApi("/");
const pollIntervalMs = 10_000;

export function StatsCard() {
  const range = rangeOf(route.useSearch().range);
  const navigate = useNavigate();
  // The previous range stays visible while the next one loads, so that the layout does not shift.
  const query = useQuery(StatsService.method.getStats, requestOf(range, Date.now()), {
    refetchInterval: pollIntervalMs,
    placeholderData: keepPreviousData,
  });
  return (
    <Section
      title="Mail"
      actions={
        <SegmentedControl
          aria-label="Time range"
          data={ranges.map(({ id, name }) => ({ value: id, label: name }))}
          value={range.id}
          transitionDuration={0}
          onChange={(id) => void navigate({ to: "/", search: { range: id }, replace: true, resetScroll: false })}
        />
      }
    >
      {query.isPending ? (
        <Skeleton
          h={{ base: 960, md: 480 }}
          radius="md"
          role="status"
          aria-busy="true"
          aria-label="Loading the statistics"
        />
      ) : query.data ? (
        <StatsView stats={query.data} range={range} />
      ) : (
        <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
      )}
    </Section>
  );
}

function StatsView({ stats, range }: { stats: GetStatsResponse; range: Range }) {
  if (isEmpty(stats))
    return (
      <Text c="dimmed">
        No mail in the last {range.words}. Choose a longer time range, or{" "}
        <AnchorLink to="/send">send a test email</AnchorLink>.
      </Text>
    );
  return (
    <Stack gap="lg">
      <Plots stats={stats} range={range} />
      <FiguresTable stats={stats} range={range} />
      <SitesTable stats={stats} />
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          Counted up to {stats.asOf && <Time at={stats.asOf} />}.{" "}
          {range.bucketHours === 24 && "Days start at midnight UTC."}
        </Text>
      </Group>
    </Stack>
  );
}

function isEmpty({ totals }: GetStatsResponse): boolean {
  if (!totals) return true;
  const { accepted, delivered, sent, bounced, delayed, complained } = totals;
  return accepted + delivered + sent + bounced + delayed + complained === 0;
}
