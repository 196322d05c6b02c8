/** The log of emails: search, filters, and a list that updates automatically. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Group, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { resetList } from "../api/query-client.ts";
import { ButtonLink } from "../parts/links.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { EmailRow } from "./email-row.tsx";
import { EmailFilters } from "./filters.tsx";
import { type EmailSearch, hasFilters, readEmailSearch, toRequest } from "./search.ts";

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
  return (
    <Page
      title="Emails"
      intro="All accepted emails, newest first. Content is stored for 30 days unless the operator changed that."
      actions={
        <WriteOnly>
          <ButtonLink to="/send">Send a test email</ButtonLink>
        </WriteOnly>
      }
    >
      <EmailFilters search={search} onChange={change} />
      <EmailList
        search={search}
        onClear={() => change({ q: "", status: "", domain: "", since: "", key: "", value: "" })}
      />
    </Page>
  );
}

function EmailList({ search, onClear }: { search: EmailSearch; onClear(): void }) {
  // The start of the period must stay the same between renders; otherwise each render would be a new query.
  const request = useMemo(() => toRequest(search, new Date()), [search]);
  const query = useInfiniteQuery(
    EmailService.method.listEmails,
    { ...request, pageToken: "", pageSize: 50 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= maxLivePages ? pollIntervalMs : false),
      refetchOnWindowFocus: false,
    },
  );
  const isLive = (query.data?.pages.length ?? 0) <= maxLivePages;
  const showNewest = () => {
    window.scrollTo({ top: 0 });
    void resetList(EmailService.method.listEmails);
  };
  return (
    <>
      <Group gap="xs" mih={30} justify="space-between">
        <Text size="sm" c="dimmed" role="status">
          {isLive ? "Live: new emails appear automatically." : "Paused while you read older emails."}
        </Text>
        {!isLive && (
          <Button variant="default" size="xs" onClick={showNewest}>
            Show newest emails
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
          hasFilters(search) ? (
            <Empty action={<Button onClick={onClear}>Clear filters</Button>}>
              No emails match. Search finds complete ids, parts of recipient addresses and words in the subject.
            </Empty>
          ) : (
            <Empty
              action={
                <WriteOnly>
                  <ButtonLink to="/send">Send a test email</ButtonLink>
                </WriteOnly>
              }
            >
              No emails yet. Send a test email, or call SendEmail with an API key.
            </Empty>
          )
        }
      />
    </>
  );
}
