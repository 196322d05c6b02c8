/** One email and the events about it, asked again while something can still happen. */
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { useEffect, useRef } from "react";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { isOpen } from "./words.ts";

const soonMs = 2_000;
/** Replies, complaints and late bounces come after an email is finished. */
const laterMs = 15_000;

export function useEmail(id: string) {
  return useQuery(
    EmailService.method.getEmail,
    { id },
    {
      refetchInterval: ({ state }) => {
        const email = state.data?.email;
        return email && isOpen(email.status) ? soonMs : laterMs;
      },
    },
  );
}

/** `state` is whatever changes with the email: each change is followed by a look at its events. */
export function useEmailEvents(emailId: string, everyMs: number, state = "") {
  const query = useInfiniteQuery(
    EmailService.method.listEvents,
    { emailId, cursor: "", pageSize: 500 },
    {
      pageParamKey: "cursor",
      getNextPageParam: (page) => (page.hasMore ? page.nextCursor : undefined),
      refetchInterval: everyMs,
    },
  );
  const { hasNextPage, isFetching, fetchNextPage, refetch } = query;
  const seen = useRef(state);
  useEffect(() => {
    if (seen.current !== state) void refetch();
    seen.current = state;
  }, [state, refetch]);
  // A timeline is read as a whole.
  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  return { ...query, events: query.data?.pages.flatMap((page) => page.data) ?? [] };
}

export function eventsEvery(isStillOpen: boolean): number {
  return isStillOpen ? soonMs : laterMs;
}
