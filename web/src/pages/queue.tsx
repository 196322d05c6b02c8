/** The outgoing queue by destination, with commands for each. */
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
import { DestinationCard } from "../queue/destination-card.tsx";

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
  const isUnbuilt = query.error !== null && codeOf(query.error) === Code.Unimplemented;
  return (
    <Page title="Queue" intro="Mail that waits, by the domain it goes to. What leaves at once is never seen here.">
      {isUnbuilt ? (
        <Empty>
          This version of the server does not show its queue yet. What waits is found on the page Emails with the status
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
            label="Destinations, those with the most mail first"
            keyOf={(one) => one.destination}
            row={(one) => <DestinationCard subject={one} />}
            empty={<Empty>{q === "" ? "Nothing waits. All mail has left." : "No destination matches."}</Empty>}
          />
        </>
      )}
    </Page>
  );
}
