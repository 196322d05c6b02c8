/** The log of emails: outcomes with their counts, filters in the URL, and a table that updates by itself. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useReducer, useState } from "react";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { resetList } from "../api/query-client.ts";
import { Fresh } from "../parts/fresh.tsx";
import { ButtonLink } from "../parts/links.tsx";
import { isLive } from "../parts/live-pages.ts";
import { Page } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { countText, useCounts } from "./counts.ts";
import { EmailTable } from "./email-table.tsx";
import { EmptyLog, NoMatches } from "./empty-log.tsx";
import { ExportEmails } from "./export-emails.tsx";
import { EmailFilters } from "./filters.tsx";
import { PeriodMenu } from "./period-menu.tsx";
import { chosenOutcomes, type EmailSearch, hasFilters, noFilters, readEmailSearch, toRequest } from "./search.ts";

const route = getRouteApi("/emails");

const pollIntervalMs = 4_000;
/** A period such as "last hour" moves on by this. */
const periodStepMs = 60_000;

export function EmailsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (part: EmailSearch) =>
      void navigate({ search: (before) => readEmailSearch({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  const [polls, setPolls] = useState(true);
  const request = useRequest(search, polls);
  const query = useEmails(request);
  const counts = useCounts(request);
  const pages = query.data?.pages;
  useEffect(() => setPolls(isLive(query.data)), [query.data]);
  const emails = useMemo(() => pages?.flatMap((page) => page.data) ?? [], [pages]);
  const { hasNextPage, isFetching, isFetchNextPageError, isPlaceholderData, fetchNextPage } = query;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching && !isFetchNextPageError && !isPlaceholderData) void fetchNextPage();
  }, [hasNextPage, isFetching, isFetchNextPageError, isPlaceholderData, fetchNextPage]);
  // A page may be empty although more follow, and then there is no table to scroll.
  useEffect(() => {
    if (emails.length === 0) onEnd();
  }, [emails.length, onEnd]);
  const showNewest = () => {
    window.scrollTo({ top: 0 });
    void resetList(EmailService.method.listEmails);
  };
  const isEmpty = query.data !== undefined && emails.length === 0 && !hasNextPage;
  return (
    <Page
      title="Emails"
      badge={<Fresh query={query} live={polls} />}
      actions={
        <>
          {!polls && (
            <Button variant="default" onClick={showNewest}>
              Show newest
            </Button>
          )}
          <PeriodMenu search={search} onChange={change} />
          <ExportEmails filter={request} expected={expectedOf(counts.data, search)} />
          <WriteOnly>
            <ButtonLink to="/send">Send a test</ButtonLink>
          </WriteOnly>
        </>
      }
    >
      {!(isEmpty && !hasFilters(search)) && <EmailFilters search={search} onChange={change} counts={counts.data} />}
      {query.isPending && <Loading what="the emails" rows={10} height={40} />}
      {query.error && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
      {/* Until the emails of new filters are loaded, the previous ones stay, so that the page does not jump. */}
      {emails.length > 0 && <EmailTable emails={emails} onEnd={onEnd} isBusy={isPlaceholderData} />}
      {isEmpty &&
        !isPlaceholderData &&
        (hasFilters(search) ? <NoMatches onClear={() => change(noFilters)} /> : <EmptyLog />)}
      {emails.length > 0 && (
        <p className="faint small" role="status">
          {footText(emails.length, hasNextPage, totalText(counts.data, search))} <kbd>/</kbd> to search.
        </p>
      )}
    </Page>
  );
}

function footText(shown: number, hasMore: boolean, total: string): string {
  const emails = shown === 1 ? "1 email" : `${shown.toLocaleString("en")} emails`;
  if (!hasMore) return `${emails}. Press`;
  return `${total ? `${shown.toLocaleString("en")} of ${total} emails` : emails}. Scroll for more, or press`;
}

type Counts = ReturnType<typeof useCounts>["data"];

/** With one outcome chosen, its count is the total of the list. */
function totalText(counts: Counts, search: EmailSearch): string {
  const chosen = chosenOutcomes(search);
  return chosen.length > 1 ? "" : countText(counts, chosen[0]);
}

/** The exact number of emails in the list. Undefined if it is not known. */
function expectedOf(counts: Counts, search: EmailSearch): number | undefined {
  const chosen = chosenOutcomes(search);
  if (!counts || counts.atLeast) return undefined;
  if (chosen.length === 0) return counts.total;
  const found = counts.counts.filter(({ outcome }) => chosen.includes(outcome));
  return found.reduce((sum, { emails }) => sum + emails, 0);
}

/** The request of the filters. While the list is live, a period that counts back from now moves with the time. */
function useRequest(search: EmailSearch, polls: boolean) {
  const [step, nextStep] = useReducer((count: number) => count + 1, 0);
  const moves = polls && search.since !== undefined;
  useEffect(() => {
    if (!moves) return;
    const timer = setInterval(nextStep, periodStepMs);
    return () => clearInterval(timer);
  }, [moves]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step is a later "now"
  return useMemo(() => toRequest(search, new Date()), [search, step]);
}

function useEmails(request: ReturnType<typeof toRequest>) {
  return useInfiniteQuery(
    EmailService.method.listEmails,
    { ...request, pageToken: "", pageSize: 100 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      refetchInterval: ({ state }) => (isLive(state.data) ? pollIntervalMs : false),
      // A hidden tab does not poll. Its list must be true as soon as the person returns.
      refetchOnWindowFocus: ({ state }) => (isLive(state.data) ? "always" : false),
      placeholderData: (before) => before,
    },
  );
}
