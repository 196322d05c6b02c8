/** The list of inbound messages, newest first, with filters. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, SimpleGrid, Text } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { type InboundMessage, InboundService } from "../../../src/gen/v1/inbound_pb.ts";
import { Fresh } from "../parts/fresh.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { isLive } from "../parts/live-pages.ts";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { Time } from "../parts/time.tsx";

const route = getRouteApi("/inbound");

export function InboundsPage() {
  const { q = "", parent = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (part: { q?: string; parent?: string }) =>
      void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  const query = useInfiniteQuery(
    InboundService.method.listInbound,
    { search: q, parentEmailId: parent, pageToken: "", pageSize: 50 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      refetchInterval: ({ state }) => (isLive(state.data) ? 5_000 : false),
    },
  );
  const hasFilters = q !== "" || parent !== "";
  return (
    <Page
      title="Inbound"
      badge={<Fresh query={query} live={isLive(query.data)} />}
      intro="Mail that arrived at your receiving domains: replies to your emails, and all other mail."
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" component="search" aria-label="Inbound mail">
        <TextFilter
          label="Search"
          placeholder="Sender, recipient, subject or id"
          value={q}
          onChange={(q) => change({ q })}
        />
        <TextFilter
          label="Replies to email"
          placeholder="em_…"
          value={parent}
          onChange={(parent) => change({ parent })}
        />
      </SimpleGrid>
      <PagedList
        query={query}
        what="inbound mail"
        label="Inbound mail, newest first"
        keyOf={(message) => message.id}
        row={(message) => <Row message={message} />}
        framed
        empty={
          hasFilters ? (
            <Empty action={<Button onClick={() => change({ q: "", parent: "" })}>Clear filters</Button>}>
              No inbound messages match.
            </Empty>
          ) : (
            <Empty>
              No inbound mail yet. A domain receives mail after you publish its inbound MX record: see{" "}
              <AnchorLink to="/domains">Domains</AnchorLink>.
            </Empty>
          )
        }
      />
    </Page>
  );
}

function Row({ message }: { message: InboundMessage }) {
  return (
    <Link to="/inbound/$id" params={{ id: message.id }} className="row">
      <StatusBadge of={kindOf(message)} />
      <div className="middle">
        <Text fw={600} className="cut" dir="auto">
          {message.subject || "(no subject)"}
        </Text>
        <Text size="sm" c="dimmed" className="cut" dir="auto">
          from {message.from} to {message.to.join(", ")}
        </Text>
      </div>
      <span className="aside">{message.receivedAt && <Time at={message.receivedAt} />}</span>
    </Link>
  );
}

function kindOf({ autoSubmitted, parentEmailId }: InboundMessage) {
  if (autoSubmitted) return { text: "Automatic", color: "gray" };
  return parentEmailId === "" ? { text: "Mail", color: "blue" } : { text: "Reply", color: "indigo" };
}
