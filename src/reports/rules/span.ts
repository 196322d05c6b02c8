/** The days of a requested time range. Called by service.ts for the summaries and the list of sources. */
import type { Violation } from "../../ops/problem.ts";

export const dayMs = 86_400_000;
const defaultDays = 30;
const maxDays = 400;
/** No report is about a time outside of these years, and `Date` writes years beyond 9999 in another form. */
const years = { first: 1970, last: 9998 };

/** Whole days, UTC: `fromMs` is the start of the first one, `toMs` the end of the last. */
export type DaySpan = { fromMs: number; toMs: number };

/** Defaults to the 30 days before `to`, which defaults to now. A day counts in full if a part of it is within the range. */
export function daySpan(
  requested: { fromMs: number | undefined; toMs: number | undefined },
  nowMs: number,
): DaySpan | Violation[] {
  const toMs = requested.toMs ?? nowMs;
  const fromMs = requested.fromMs ?? toMs - defaultDays * dayMs;
  if (!(fromMs >= Date.UTC(years.first) && toMs < Date.UTC(years.last + 1)))
    return [{ field: "from", description: `the range must be between the years ${years.first} and ${years.last}` }];
  if (fromMs >= toMs) return [{ field: "from", description: "must be before `to`" }];
  if (toMs - fromMs > maxDays * dayMs)
    return [{ field: "from", description: `the range is longer than ${maxDays} days; choose a shorter one` }];
  return { fromMs: Math.floor(fromMs / dayMs) * dayMs, toMs: Math.ceil(toMs / dayMs) * dayMs };
}

/** The start of each day. */
export function dayStarts({ fromMs, toMs }: DaySpan): number[] {
  return Array.from({ length: Math.round((toMs - fromMs) / dayMs) }, (_, index) => fromMs + index * dayMs);
}
