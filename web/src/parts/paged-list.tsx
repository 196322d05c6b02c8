/** A list that loads page by page, with its loading, error and empty states. The next page loads when the end becomes visible, or only on
 * request. */
import { Button, Stack, Text } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { Fresh } from "./fresh.tsx";
import { Loading, ProblemAlert } from "./states.tsx";

/** The properties of TanStack's infinite query that the list uses. */
export interface PagedQuery<Item> {
  data: { pages: { data: Item[] }[] } | undefined;
  error: unknown;
  isPending: boolean;
  isFetchNextPageError: boolean;
  dataUpdatedAt: number;
  failureReason: unknown;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage(): unknown;
  refetch(): unknown;
}

export function PagedList<Item>(props: {
  query: PagedQuery<Item>;
  /** Completes the label "Loading …", for example "the emails". */
  what: string;
  label: string;
  empty: ReactNode;
  keyOf(item: Item): string;
  row(item: Item): ReactNode;
  /** True: one frame around all rows. False: each row is a card. */
  framed?: boolean;
  /** True: the next page loads only on request. For a list with other content below it, which would otherwise move out of reach. */
  onRequest?: boolean;
  /** True: says below the list when it was last true. For pages that do not say so next to their heading. */
  isFresh?: boolean;
}) {
  const { query, what, label, empty, keyOf, row, framed = false, onRequest = false, isFresh = false } = props;
  if (query.isPending) return <Loading what={what} />;
  // Loaded entries stay visible after an error. Without any data, the error replaces the list.
  if (!query.data) return <ProblemAlert error={query.error} onRetry={() => query.refetch()} />;
  const items = query.data.pages.flatMap((page) => page.data);
  if (items.length === 0) return empty;
  return (
    <Stack gap="sm">
      {query.error !== null && !query.isFetchNextPageError && (
        <ProblemAlert error={query.error} onRetry={() => query.refetch()} />
      )}
      <Stack component="ul" gap={framed ? 0 : "sm"} className={framed ? "list framed" : "list"} aria-label={label}>
        {items.map((item) => (
          <li key={keyOf(item)}>{row(item)}</li>
        ))}
      </Stack>
      {query.isFetchNextPageError && <ProblemAlert error={query.error} onRetry={() => query.fetchNextPage()} />}
      {query.hasNextPage ? (
        !query.isFetchNextPageError && <More query={query} onRequest={onRequest} />
      ) : (
        <Text size="sm" c="dimmed" ta="center" role="status">
          {items.length === 1 ? "1 result" : `${items.length.toLocaleString("en")} results`}
          {isFresh && (
            <>
              , <Fresh query={query} />
            </>
          )}
        </Text>
      )}
    </Stack>
  );
}

/** Loads the next page when it becomes visible. It is a button, so that it works with the keyboard too. */
function More(props: { query: Pick<PagedQuery<unknown>, "isFetchingNextPage" | "fetchNextPage">; onRequest: boolean }) {
  const { query, onRequest } = props;
  const button = useRef<HTMLButtonElement>(null);
  const { isFetchingNextPage, fetchNextPage } = query;
  useEffect(() => {
    if (isFetchingNextPage || onRequest) return;
    const watch = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) fetchNextPage();
    });
    watch.observe(button.current!);
    return () => watch.disconnect();
  }, [isFetchingNextPage, fetchNextPage, onRequest]);
  return (
    <Button
      ref={button}
      variant="default"
      onClick={() => fetchNextPage()}
      loading={isFetchingNextPage}
      style={{ alignSelf: "center" }}
    >
      Show more
    </Button>
  );
}
