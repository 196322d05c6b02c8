/** The filters of the email log: read from the page's URL, and converted to a ListEmails request. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { readTextParams } from "../parts/search-params.ts";
import { outcomeByName } from "./outcomes.ts";

const names = ["q", "outcome", "domain", "sender", "since", "from", "to", "key", "value"] as const;

export type EmailSearch = Partial<Record<(typeof names)[number], string>>;

export const noFilters: EmailSearch = Object.fromEntries(names.map((name) => [name, ""]));

export const periods: Record<string, { name: string; ms: number }> = {
  hour: { name: "Last hour", ms: 3_600_000 },
  day: { name: "Last 24 hours", ms: 86_400_000 },
  week: { name: "Last 7 days", ms: 7 * 86_400_000 },
  month: { name: "Last 30 days", ms: 30 * 86_400_000 },
};

export function readEmailSearch(raw: Record<string, unknown>): EmailSearch {
  return readTextParams(raw, names);
}

export function hasFilters(search: EmailSearch): boolean {
  return Object.keys(search).length > 0;
}

export function toRequest(search: EmailSearch, now: Date) {
  const period = periods[search.since ?? ""];
  const outcome = outcomeByName(search.outcome);
  return {
    search: search.q ?? "",
    outcomes: outcome === undefined ? [] : [outcome],
    domain: search.domain ?? "",
    keyId: search.sender ?? "",
    metadataKey: search.key ?? "",
    metadataValue: search.key ? (search.value ?? "") : "",
    createdAfter: period ? timestampFromDate(new Date(now.getTime() - period.ms)) : readTime(search.from),
    createdBefore: readTime(search.to),
  };
}

/** The URL is untrusted: undefined if it is not a time. */
function readTime(text: string | undefined) {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : timestampFromDate(new Date(ms));
}
