/** Says when what a page shows was last true, and at once when an update fails. */
import { isUnanswered } from "../api/problem.ts";
import { clockText } from "./date-text.ts";
import { useSeconds } from "./time.tsx";

/** The properties of TanStack's query that matter here. */
export type FreshQuery = { dataUpdatedAt: number; error: unknown; failureReason: unknown };

/** A page that polls is late after this time, although no call has failed yet. */
const lateMs = 30_000;

export function Fresh({ query, live = false }: { query: FreshQuery; live?: boolean }) {
  const now = useSeconds();
  const { dataUpdatedAt } = query;
  // The reason is empty while a failed update is repeated; the error is empty while the first attempts fail.
  const reason = query.failureReason ?? query.error;
  if (dataUpdatedAt === 0) return null;
  const ageMs = Math.max(0, now - dataUpdatedAt);
  const isLate = live && ageMs > lateMs;
  if (reason || isLate)
    return (
      <span className="fresh stale" role="status">
        {`not current: ${failureText(reason)}. Last update at ${clockText(dataUpdatedAt)}`}
      </span>
    );
  return (
    <span className="fresh">{live ? `live, updated ${ageText(ageMs)}` : `as of ${clockText(dataUpdatedAt)}`}</span>
  );
}

function failureText(reason: unknown): string {
  if (!reason) return "the update is late";
  return isUnanswered(reason) ? "the server does not answer" : "the last update failed";
}

function ageText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 2 ? "now" : `${seconds} s ago`;
}
