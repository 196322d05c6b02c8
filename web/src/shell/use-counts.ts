/** Keeps the numbers of the navigation true: they are read again every half minute, on every new page, and as soon as any call fails. */
import { Code } from "@connectrpc/connect";
import { type QueryFilters, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { codeOf, isUnanswered } from "../api/problem.ts";
import { queryClient } from "../api/query-client.ts";
import { currentWorkspace } from "../api/session.ts";
import type { Counts } from "./counts.ts";
import { isWithin } from "./sections.tsx";

const allCounts = ["counts"];
const pollMs = 30_000;
/** While the server is away, this query notices first that it is back. */
const pollAwayMs = 4_000;

export function useCounts(path: string, enabled: boolean) {
  const query = useQuery({
    queryKey: [...allCounts, currentWorkspace()?.id],
    queryFn: async ({ signal }): Promise<Counts> => (await import("./read-counts.ts")).readCounts(signal),
    enabled,
    retry: false,
    refetchInterval: ({ state }) => (state.error ? pollAwayMs : pollMs),
  });
  const { error, data } = query;
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current !== path) void queryClient.invalidateQueries({ queryKey: allCounts });
    shown.current = path;
  }, [path]);
  useEffect(() => (enabled ? followFailures() : undefined), [enabled]);
  useRecovery(error !== null);
  const seen = useSeenInbound(isWithin(path, "/inbound"), data);
  return { counts: error ? undefined : data, seen, error, asOf: query.dataUpdatedAt };
}

/**
 * A call of the page that should have worked makes the numbers doubtful at once. An outage that the numbers did not see,
 * because it was short or concerned one call, ends with this timer.
 */
function followFailures(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waitMs = pollAwayMs;
  const retry = () => {
    timer = undefined;
    waitMs = queryClient.getQueryCache().findAll(failed).length > 0 ? Math.min(waitMs * 2, pollMs) : pollAwayMs;
    void queryClient.refetchQueries(failed);
  };
  const unsubscribe = queryClient.getQueryCache().subscribe((event) => {
    if (event.type !== "updated" || event.query.queryKey[0] === allCounts[0]) return;
    if ((event.action.type !== "error" && event.action.type !== "failed") || !isOutage(event.action.error)) return;
    void queryClient.refetchQueries({ queryKey: allCounts }, { cancelRefetch: false });
    timer ??= setTimeout(retry, waitMs);
  });
  return () => {
    clearTimeout(timer);
    unsubscribe();
  };
}

/** The queries of the page that ended with an error, whatever the error was. */
const failed: QueryFilters = { type: "active", predicate: ({ state }) => state.status === "error" };

function isOutage(error: unknown): boolean {
  return isUnanswered(error) || [Code.Internal, Code.Unknown].includes(codeOf(error));
}

/** When the server answers again, everything that failed on the page is read again. */
function useRecovery(isAway: boolean): void {
  const wasAway = useRef(isAway);
  useEffect(() => {
    if (wasAway.current && !isAway) void queryClient.refetchQueries(failed);
    wasAway.current = isAway;
  }, [isAway]);
}

const listeners = new Set<() => void>();

/** The newest inbound message when the list was last open in this browser. Messages that were there at the first visit are not new. */
function useSeenInbound(isListOpen: boolean, counts: Counts | undefined): string {
  const slot = `posthorn.inbound-seen.${currentWorkspace()?.id ?? "key"}`;
  const stored = useSyncExternalStore(subscribe, () => localStorage.getItem(slot));
  const ids = counts?.inbound?.ids;
  const newest = ids && (ids[0] ?? "");
  useEffect(() => {
    if (newest === undefined || stored === newest || (stored !== null && !isListOpen)) return;
    localStorage.setItem(slot, newest);
    for (const listener of listeners) listener();
  }, [slot, stored, newest, isListOpen]);
  return stored ?? newest ?? "";
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
