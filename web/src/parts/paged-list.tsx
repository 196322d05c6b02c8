/** A list that is fetched page by page: loading, failed, empty, filled, and more when its end comes into view. */
import { Button, Stack, Text } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { ProblemAlert } from "./problem-alert.tsx";
import { Loading } from "./states.tsx";

/** What is used of TanStack's infinite query, whatever its pages hold. */
export interface PagedQuery<Item> {
  data: { pages: { data: Item[] }[] } | undefined;
  error: unknown;
  isPending: boolean;
  isFetchNextPageError: boolean;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage(): unknown;
  refetch(): unknown;
}

export function PagedList<Item>(props: {
  query: PagedQuery<Item>;
  /** What the list holds, as in "Loading the emails". */
  what: string;
  label: string;
  empty: ReactNode;
  keyOf(item: Item): string;
  row(item: Item): ReactNode;
  /** Rows in one frame instead of cards of their own. */
  framed?: boolean;
}) {
  const { query, what, label, empty, keyOf, row, framed = false } = props;
  if (query.isPending) return <Loading what={what} />;
  // What was already shown stays; only a list that never came is replaced by its error.
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
        !query.isFetchNextPageError && <More query={query} />
      ) : (
        <Text size="sm" c="dimmed" ta="center" role="status">
          {items.length === 1 ? "That is the only one." : `That is all: ${items.length.toLocaleString("en")}.`}
        </Text>
      )}
    </Stack>
  );
}

/** A button for the keyboard that presses itself when it comes into view. */
function More({ query }: { query: Pick<PagedQuery<unknown>, "isFetchingNextPage" | "fetchNextPage"> }) {
  const button = useRef<HTMLButtonElement>(null);
  const { isFetchingNextPage, fetchNextPage } = query;
  useEffect(() => {
    if (isFetchingNextPage) return;
    const watch = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) fetchNextPage();
    });
    watch.observe(button.current!);
    return () => watch.disconnect();
  }, [isFetchingNextPage, fetchNextPage]);
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
