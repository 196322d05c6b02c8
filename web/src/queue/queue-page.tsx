/** The outgoing queue by destination. */
import { Code } from "@connectrpc/connect";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { QueueService } from "../../../src/gen/v1/queue_pb.ts";
import { codeOf } from "../api/problem.ts";
import { Fresh } from "../parts/fresh.tsx";
import { Page } from "../parts/page.tsx";
import { Empty, Loading, ProblemAlert } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { DestinationTable } from "./destination-table.tsx";
import type { Retried } from "./labels.ts";
import { RetryProgress } from "./retry-progress.tsx";

const route = getRouteApi("/queue");

export function QueuePage() {
  const { q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (q: string) => void navigate({ search: { q }, replace: true, resetScroll: false }),
    [navigate],
  );
  const query = useInfiniteQuery(
    QueueService.method.listDestinations,
    { search: q, pageToken: "", pageSize: 50 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      // Also after an error, so that the page is true again as soon as the server answers.
      refetchInterval: ({ state }) => (state.error && codeOf(state.error) === Code.Unimplemented ? false : 3_000),
    },
  );
  const isUnimplemented = query.error !== null && codeOf(query.error) === Code.Unimplemented;
  // Kept here, because the row of a destination disappears when its queue is empty.
  const [retried, setRetried] = useState<Retried>();
  const destinations = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Page
      title="Queue"
      badge={!isUnimplemented && <Fresh query={query} live />}
      intro="Mail that is not delivered yet, by recipient domain. Scheduled mail does not wait for the receiver."
    >
      {isUnimplemented ? (
        <Empty>
          This version of the server does not show its queue. The Emails page lists waiting mail with the status
          “Queued”.
        </Empty>
      ) : (
        <>
          <search aria-label="Destinations">
            <TextFilter label="Search" placeholder="Part of a domain" value={q} onChange={change} maw={420} />
          </search>
          {query.isPending && <Loading what="the destinations" />}
          {query.error && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
          {retried && <RetryProgress key={retried.at} retried={retried} />}
          {destinations.length > 0 && <DestinationTable destinations={destinations} onRetried={setRetried} />}
          {query.data && destinations.length === 0 && (
            <Empty>
              {q === ""
                ? "The queue is empty: every email has been delivered or has failed. Scheduled mail, and mail that is being retried, appears here."
                : "No destinations match."}
            </Empty>
          )}
          {query.hasNextPage && (
            <Button
              variant="default"
              style={{ alignSelf: "center" }}
              loading={query.isFetchingNextPage}
              onClick={() => void query.fetchNextPage()}
            >
              Show more
            </Button>
          )}
        </>
      )}
    </Page>
  );
}
