/** The log of emails: outcomes, filters in the URL, and a table that updates by itself. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { resetList } from "../api/query-client.ts";
import { Fresh } from "../parts/fresh.tsx";
import { ButtonLink } from "../parts/links.tsx";
import { Page } from "../parts/page.tsx";
import { Empty, Loading, ProblemAlert } from "../parts/states.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { EmailTable } from "./email-table.tsx";
import { EmailFilters, PeriodMenu } from "./filters.tsx";
import { type EmailSearch, hasFilters, noFilters, readEmailSearch, toRequest } from "./search.ts";

const route = getRouteApi("/emails");

/** The list polls only while few pages are loaded: this is cheap, and does not move entries while a person reads further down. */
const maxLivePages = 2;
const pollIntervalMs = 4_000;

export function EmailsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (part: EmailSearch) =>
      void navigate({ search: (before) => readEmailSearch({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  const query = useEmails(search);
  const pages = query.data?.pages ?? [];
  const emails = useMemo(() => pages.flatMap((page) => page.data), [pages]);
  const isLive = pages.length <= maxLivePages;
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage]);
  const showNewest = () => {
    window.scrollTo({ top: 0 });
    void resetList(EmailService.method.listEmails);
  };
  return (
    <Page
      title="Emails"
      badge={<Fresh query={query} live={isLive} />}
      actions={
        <>
          {!isLive && (
            <Button variant="default" onClick={showNewest}>
              Show newest
            </Button>
          )}
          <PeriodMenu search={search} onChange={change} />
          <WriteOnly>
            <ButtonLink to="/send">Send a test</ButtonLink>
          </WriteOnly>
        </>
      }
    >
      <EmailFilters search={search} onChange={change} />
      {query.isPending && <Loading what="the emails" rows={10} height={40} />}
      {query.error && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
      {emails.length > 0 && <EmailTable emails={emails} onEnd={onEnd} />}
      {query.data && emails.length === 0 && !hasNextPage && (
        <NoEmails search={search} onClear={() => change(noFilters)} />
      )}
      {query.data && (
        <p className="faint small" role="status">
          {hasNextPage ? `${emails.length.toLocaleString("en")} emails, scroll for more` : countText(emails.length)}
          {", or press "}
          <kbd>/</kbd> to search.
        </p>
      )}
    </Page>
  );
}

function countText(count: number): string {
  return count === 1 ? "1 email" : `${count.toLocaleString("en")} emails`;
}

function useEmails(search: EmailSearch) {
  // The start of the period must stay the same between renders; otherwise each render would be a new query.
  const request = useMemo(() => toRequest(search, new Date()), [search]);
  return useInfiniteQuery(
    EmailService.method.listEmails,
    { ...request, pageToken: "", pageSize: 100 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= maxLivePages ? pollIntervalMs : false),
      refetchOnWindowFocus: false,
    },
  );
}

function NoEmails({ search, onClear }: { search: EmailSearch; onClear(): void }) {
  if (hasFilters(search))
    return (
      <Empty action={<Button onClick={onClear}>Clear filters</Button>}>
        No emails match. Search finds email ids, Message-IDs, the beginning of recipient addresses, and words in the
        subject.
      </Empty>
    );
  return (
    <Empty
      action={
        <WriteOnly>
          <ButtonLink to="/send">Send a test email</ButtonLink>
        </WriteOnly>
      }
    >
      No emails yet. Send a test email, or call SendEmail with an API key.
    </Empty>
  );
}
