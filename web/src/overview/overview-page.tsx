/** The start page: the guide for an empty workspace, otherwise figures next to their limits, the chart, insight tables and what needs attention. */
import { useQuery } from "@connectrpc/connect-query";
import { Button, Skeleton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { keepPreviousData } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { type GetStatsResponse, StatsService } from "../../../src/gen/v1/stats_pb.ts";
import { Fresh } from "../parts/fresh.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Page } from "../parts/page.tsx";
import { RangeMenu } from "../parts/range-menu.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useLateDialog } from "../parts/use-late-dialog.ts";
import { WriteOnly } from "../shell/write-only.tsx";
import { Chart } from "../stats/chart.tsx";
import { isEmpty } from "../stats/counts.ts";
import { dimensionOf, dimensionsOf } from "../stats/dimensions.ts";
import { FiguresTable } from "../stats/figures.tsx";
import { GroupsCard } from "../stats/groups.tsx";
import { Kpis } from "../stats/kpis.tsx";
import { type Range, rangeOf, ranges, requestOf } from "../stats/ranges.ts";
import "../stats/stats.css";
import { AttentionCard } from "./attention-card.tsx";
import type { NewKey } from "./steps.tsx";
import { useGuide } from "./use-guide.ts";

const SettingsDialog = lazy(() =>
  import("./settings-dialog.tsx").then((dialogs) => ({ default: dialogs.SettingsDialog })),
);
const Guide = lazy(() => import("./guide.tsx").then((guide) => ({ default: guide.Guide })));
const NewKeySection = lazy(() => import("./steps.tsx").then((steps) => ({ default: steps.NewKeySection })));

const route = getRouteApi("/");
const pollIntervalMs = 10_000;

export function OverviewPage() {
  const { isNew, isGuided, progress, queries } = useGuide();
  // Here, because the guide is mounted again after the first email. Only in this page's memory: it is gone after a reload.
  const [newKey, setNewKey] = useState<NewKey>();
  const guide = (
    <>
      {newKey && (
        <Suspense>
          <NewKeySection {...newKey} onStored={() => setNewKey(undefined)} />
        </Suspense>
      )}
      {isGuided && (
        <Suspense fallback={<Loading what="the first steps" rows={6} />}>
          <Guide progress={progress} queries={queries} hasNewKey={newKey !== undefined} onKeyCreated={setNewKey} />
        </Suspense>
      )}
    </>
  );
  // The guide stays above the figures. Before the first email there are none.
  return isGuided && isNew !== false ? <Page title="Overview">{guide}</Page> : <Insight guide={guide} />;
}

function Insight({ guide }: { guide: ReactNode }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const range = rangeOf(search.range);
  const settings = useQuery(StatsService.method.getStatsSettings, {});
  const dimensions = dimensionsOf(settings.data?.settings?.metadataKeys ?? []);
  const dimension = dimensionOf(search.by, dimensions);
  const { groupBy, metadataKey } = dimension;
  // The previous answer stays visible while the next one loads, so that the layout does not shift. It is dimmed, and its links do not work.
  const query = useQuery(
    StatsService.method.getStats,
    { ...requestOf(range, Date.now()), groupBy, metadataKey },
    { refetchInterval: pollIntervalMs, placeholderData: keepPreviousData },
  );
  const [isSetting, setting] = useDisclosure(false);
  const wasSetting = useLateDialog(isSetting);
  const show = (part: typeof search) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false });
  return (
    <Page
      title="Overview"
      badge={<Fresh query={query} />}
      actions={
        <>
          <WriteOnly>
            <Button variant="default" onClick={setting.open}>
              Alerts
            </Button>
          </WriteOnly>
          <RangeMenu range={range} ranges={ranges} onSelect={(id) => show({ range: id })} />
        </>
      }
    >
      {guide}
      {query.isPending ? (
        <Skeleton h={420} radius="md" role="status" aria-busy="true" aria-label="Loading the statistics" />
      ) : query.data ? (
        <div className="figures" aria-busy={query.isPlaceholderData} inert={query.isPlaceholderData}>
          <Figures stats={query.data} range={range} />
        </div>
      ) : (
        <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
      )}
      <div className="halves">
        {query.data && (
          <GroupsCard
            stats={query.data}
            isCurrent={!query.isPlaceholderData}
            dimension={dimension}
            dimensions={dimensions}
            onSelect={(by) => show({ by })}
          />
        )}
        <AttentionCard stats={query} />
      </div>
      <Suspense>{wasSetting && <SettingsDialog isOpen={isSetting} onClose={setting.close} />}</Suspense>
    </Page>
  );
}

function Figures({ stats, range }: { stats: GetStatsResponse; range: Range }) {
  if (isEmpty(stats.totals))
    return (
      <section className="card pane-empty" aria-label="Figures">
        No mail in the {range.words}. Choose a longer time range, or{" "}
        <AnchorLink to="/send">send a test email</AnchorLink>.
      </section>
    );
  return (
    <>
      <Kpis stats={stats} />
      <Chart key={range.id} stats={stats} range={range} />
      <div className="chart-notes">
        <FiguresTable stats={stats} range={range} />
        <p className="small faint">
          Counted up to {stats.asOf && <Time at={stats.asOf} />}.
          {range.bucketHours === 24 && " Days start at midnight UTC."}
        </p>
      </div>
    </>
  );
}
