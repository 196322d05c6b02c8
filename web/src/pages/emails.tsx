/** The log of sent mail: search, filters, and rows that stay current. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Group, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { startOver } from "../api/changed.ts";
import { EmailRow } from "../emails/email-row.tsx";
import { EmailFilters } from "../emails/filters.tsx";
import { type EmailSearch, isNarrowed, readEmailSearch, toRequest } from "../emails/search.ts";
import { ButtonLink } from "../parts/links.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { WriteOnly } from "../shell/write-only.tsx";

const route = getRouteApi("/emails");

/** A look at the newest pages is cheap; whoever has read far down is not interrupted. */
const livePages = 2;
const liveEveryMs = 4_000;

export function EmailsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (part: EmailSearch) =>
      void navigate({ search: (before) => readEmailSearch({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  return (
    <Page
      title="Emails"
      intro="Every email that was accepted, newest first. Content is kept for 30 days unless the operator chose otherwise."
      actions={
        <WriteOnly>
          <ButtonLink to="/send">Send a test email</ButtonLink>
        </WriteOnly>
      }
    >
      <EmailFilters search={search} onChange={change} />
      <Log search={search} onClear={() => change({ q: "", status: "", domain: "", since: "", key: "", value: "" })} />
    </Page>
  );
}

function Log({ search, onClear }: { search: EmailSearch; onClear(): void }) {
  // The beginning of a period must stay put, or each look would be a question of its own.
  const request = useMemo(() => toRequest(search, new Date()), [search]);
  const query = useInfiniteQuery(
    EmailService.method.listEmails,
    { ...request, pageToken: "", pageSize: 50 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= livePages ? liveEveryMs : false),
      refetchOnWindowFocus: false,
    },
  );
  const isLive = (query.data?.pages.length ?? 0) <= livePages;
  const toNewest = () => {
    window.scrollTo({ top: 0 });
    void startOver(EmailService.method.listEmails);
  };
  return (
    <>
      <Group gap="xs" mih={30} justify="space-between">
        <Text size="sm" c="dimmed" role="status">
          {isLive ? "Live: new emails appear by themselves." : "Paused while you read older emails."}
        </Text>
        {!isLive && (
          <Button variant="default" size="xs" onClick={toNewest}>
            Back to the newest
          </Button>
        )}
      </Group>
      <PagedList
        query={query}
        what="the emails"
        label="Emails, newest first"
        keyOf={(email) => email.id}
        row={(email) => <EmailRow email={email} />}
        framed
        empty={
          isNarrowed(search) ? (
            <Empty action={<Button onClick={onClear}>Clear filters</Button>}>
              No email matches. The search finds whole ids, parts of recipient addresses and words of the subject.
            </Empty>
          ) : (
            <Empty
              action={
                <WriteOnly>
                  <ButtonLink to="/send">Send a test email</ButtonLink>
                </WriteOnly>
              }
            >
              No email has been sent yet. Send one from here, or call SendEmail with an API key.
            </Empty>
          )
        }
      />
    </>
  );
}
