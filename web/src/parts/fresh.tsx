/** Says when what a page shows was last true, and at once when the server no longer answers. */
import { useEffect, useState } from "react";

/** The properties of TanStack's query that matter here. */
export type FreshQuery = { dataUpdatedAt: number; failureCount: number; isError: boolean; isFetching: boolean };

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
/** A page that polls is late after this time, although no call has failed yet. */
const lateMs = 30_000;

export function Fresh({ query, live = false }: { query: FreshQuery; live?: boolean }) {
  const now = useSeconds();
  const { dataUpdatedAt, failureCount, isError } = query;
  if (dataUpdatedAt === 0) return null;
  const ageMs = Math.max(0, now - dataUpdatedAt);
  const isStale = isError || failureCount > 0 || (live && ageMs > lateMs);
  if (isStale)
    return (
      <span className="fresh stale" role="status">
        not current: the server does not answer. Last update at {clock.format(dataUpdatedAt)}
      </span>
    );
  return (
    <span className="fresh" role={live ? undefined : "status"}>
      {live ? `live, updated ${ageText(ageMs)}` : `as of ${clock.format(dataUpdatedAt)}`}
    </span>
  );
}

function ageText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 2 ? "now" : `${seconds} s ago`;
}

function useSeconds(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
