/** The outgoing queue by destination. */
import { Code } from "@connectrpc/connect";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { QueueService } from "../../../src/gen/v1/queue_pb.ts";
import { codeOf } from "../api/problem.ts";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { DestinationCard } from "./destination-card.tsx";

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
      refetchInterval: ({ state }) => (state.error ? false : 5_000),
    },
  );
  const isUnimplemented = query.error !== null && codeOf(query.error) === Code.Unimplemented;
  return (
    <Page
      title="Queue"
      intro="Waiting mail by recipient domain. Mail that is delivered immediately does not appear here."
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
          <PagedList
            query={query}
            what="the destinations"
            label="Destinations, most mail first"
            keyOf={(one) => one.destination}
            row={(one) => <DestinationCard subject={one} />}
            empty={
              <Empty>
                {q === ""
                  ? "The queue is empty. Scheduled mail and mail that is being retried appears here."
                  : "No destinations match."}
              </Empty>
            }
          />
        </>
      )}
    </Page>
  );
}
