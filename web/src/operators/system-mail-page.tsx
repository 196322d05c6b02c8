/** The mail of the service itself, for operators: what became of each mail, and replies to it. Never its content, which gives access to an
 * account. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, NativeSelect, SimpleGrid } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { OperatorService } from "../../../src/gen/v1/operator_pb.ts";
import { outcomeByName, outcomeLabel, outcomeName, outcomes } from "../emails/outcomes.ts";
import { Fresh } from "../parts/fresh.tsx";
import { isLive } from "../parts/live-pages.ts";
import { Empty, Loading, ProblemAlert } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { LiftSuppression } from "./lift-suppression.tsx";
import { OperatorPage } from "./operator-page.tsx";
import { SystemMailTable } from "./system-mail-table.tsx";

const route = getRouteApi("/operator/mail");

export function OperatorMailPage() {
  return (
    <OperatorPage
      title="System mail"
      intro="Mail that this service sent itself: sign-up and password links, invitations, and notices to owners. Its content is not shown, because the links in it give access to accounts."
    >
      <Listed />
    </OperatorPage>
  );
}

const outcomeOptions = [
  { value: "", label: "Any outcome" },
  ...outcomes.map((outcome) => ({ value: outcomeName(outcome), label: outcomeLabel(outcome).text })),
];

const pollIntervalMs = 5_000;

function Listed() {
  const { q = "", outcome = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (part: { q?: string; outcome?: string }) =>
      void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  const chosen = outcomeByName(outcome);
  const query = useInfiniteQuery(
    OperatorService.method.listSystemMail,
    { search: q, outcomes: chosen === undefined ? [] : [chosen], pageToken: "", pageSize: 50 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      refetchInterval: ({ state }) => (isLive(state.data) ? pollIntervalMs : false),
    },
  );
  const [lifted, setLifted] = useState<string>();
  const mails = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" component="search" aria-label="System mail">
        <TextFilter
          label="Search"
          placeholder="Recipient, subject or id"
          value={q}
          onChange={(text) => change({ q: text })}
        />
        <NativeSelect
          label="Outcome"
          data={outcomeOptions}
          value={outcome}
          onChange={(event) => change({ outcome: event.currentTarget.value })}
        />
      </SimpleGrid>
      {query.isPending && <Loading what="the system mail" />}
      {query.error && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
      {mails.length > 0 && <SystemMailTable mails={mails} onLift={setLifted} />}
      {query.data && mails.length === 0 && !query.hasNextPage && (
        <NoMail hasFilters={q !== "" || outcome !== ""} onClear={() => change({ q: "", outcome: "" })} />
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
      {query.data && (
        <p className="faint small">
          {/* Only the number is announced, not each second of its age. */}
          <span role="status">{countText(mails.length, query.hasNextPage)}</span>{" "}
          <Fresh query={query} live={isLive(query.data)} />
        </p>
      )}
      <LiftSuppression address={lifted} onClose={() => setLifted(undefined)} />
    </>
  );
}

function countText(shown: number, hasMore: boolean): string {
  if (shown === 0) return "";
  return `${shown === 1 ? "1 email" : `${shown.toLocaleString("en")} emails`}${hasMore ? " so far" : ""} ·`;
}

function NoMail({ hasFilters, onClear }: { hasFilters: boolean; onClear(): void }) {
  if (hasFilters)
    return <Empty action={<Button onClick={onClear}>Clear filters</Button>}>No system mail matches.</Empty>;
  return (
    <Empty title="No system mail yet">
      Invitations, password links and notices to owners appear here as soon as the service sends them. Invite a person
      on the page of a workspace to send the first one.
    </Empty>
  );
}
