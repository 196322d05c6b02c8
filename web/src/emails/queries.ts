/** Queries for one email and its events. They poll often while the email is open and rarely afterwards. */
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { useEffect, useRef } from "react";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { isOpen } from "./outcomes.ts";

const openPollMs = 2_000;
/** Replies, complaints and late bounces arrive after an email is finished. */
const finishedPollMs = 5_000;

export function useEmail(id: string) {
  return useQuery(
    EmailService.method.getEmail,
    { id },
    {
      refetchInterval: ({ state }) => {
        const email = state.data?.email;
        return email && isOpen(email.status) ? openPollMs : finishedPollMs;
      },
    },
  );
}

/** Fetches all events of an email. A change of `state`, such as the email's status, triggers a fetch. */
export function useEmailEvents(emailId: string, pollMs: number, state = "") {
  const query = useInfiniteQuery(
    EmailService.method.listEvents,
    { emailId, cursor: "", pageSize: 500 },
    {
      pageParamKey: "cursor",
      getNextPageParam: (page) => (page.hasMore ? page.nextCursor : undefined),
      refetchInterval: pollMs,
    },
  );
  const { hasNextPage, isFetching, fetchNextPage, refetch } = query;
  const fetchedState = useRef(state);
  useEffect(() => {
    if (fetchedState.current !== state) void refetch();
    fetchedState.current = state;
  }, [state, refetch]);
  // A timeline needs all pages.
  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  return { ...query, events: query.data?.pages.flatMap((page) => page.data) ?? [] };
}

export function eventPollMs(isStillOpen: boolean): number {
  return isStillOpen ? openPollMs : finishedPollMs;
}
