/** What the log is narrowed to, as it stands in the page's address, and as the API asks for it. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { readTexts } from "../parts/search-texts.ts";
import { statusByName } from "./words.ts";

export interface EmailSearch {
  q?: string;
  status?: string;
  domain?: string;
  since?: string;
  key?: string;
  value?: string;
}

export const periods: Record<string, { name: string; ms: number }> = {
  hour: { name: "Last hour", ms: 3_600_000 },
  day: { name: "Last 24 hours", ms: 86_400_000 },
  week: { name: "Last 7 days", ms: 7 * 86_400_000 },
  month: { name: "Last 30 days", ms: 30 * 86_400_000 },
};

export function readEmailSearch(raw: Record<string, unknown>): EmailSearch {
  return readTexts(raw, ["q", "status", "domain", "since", "key", "value"]);
}

export function isNarrowed(search: EmailSearch): boolean {
  return Object.keys(search).length > 0;
}

export function toRequest(search: EmailSearch, now: Date) {
  const period = periods[search.since ?? ""];
  return {
    search: search.q ?? "",
    status: statusByName(search.status),
    domain: search.domain ?? "",
    metadataKey: search.key ?? "",
    metadataValue: search.key ? (search.value ?? "") : "",
    createdAfter: period ? timestampFromDate(new Date(now.getTime() - period.ms)) : undefined,
  };
}
