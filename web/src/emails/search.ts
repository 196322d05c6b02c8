/** The filters of the email log: read from the page's URL, and converted to a ListEmails request. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { dayText, timeText } from "../parts/date-text.ts";
import { readTextParams } from "../parts/search-params.ts";
import { outcomeByName } from "./outcomes.ts";

/** `sender` is the id of a key, `destination` the domain of a recipient, `site` the receiver of the statistics. `open` is "yes" for mail that still waits. `since` is one of the periods; `from` and `until` are times, or days of the person's calendar. */
const names = [
  "q",
  "outcome",
  "domain",
  "destination",
  "site",
  "open",
  "sender",
  "since",
  "from",
  "until",
  "key",
  "value",
] as const;

export type EmailSearch = Partial<Record<(typeof names)[number], string>>;

export const noFilters: EmailSearch = Object.fromEntries(names.map((name) => [name, ""]));

export const periods: Record<string, { name: string; ms: number }> = {
  hour: { name: "Last hour", ms: 3_600_000 },
  day: { name: "Last 24 hours", ms: 86_400_000 },
  week: { name: "Last 7 days", ms: 7 * 86_400_000 },
  month: { name: "Last 30 days", ms: 30 * 86_400_000 },
};

/** A filter that has no effect is dropped, so that the page does not show it as chosen. */
export function readEmailSearch(raw: Record<string, unknown>): EmailSearch {
  const { since, outcome, value, ...search }: EmailSearch = readTextParams(raw, names);
  const known = outcome?.split(",").filter((name) => outcomeByName(name) !== undefined) ?? [];
  return {
    ...search,
    ...(since && Object.hasOwn(periods, since) && { since }),
    ...(known.length > 0 && { outcome: known.join(",") }),
    ...(search.key && value && { value }),
  };
}

export function hasFilters(search: EmailSearch): boolean {
  return Object.keys(search).length > 0;
}

export function toRequest(search: EmailSearch, now: Date) {
  const { createdAfter, createdBefore } = rangeOf(search, now);
  return {
    search: search.q ?? "",
    outcomes: chosenOutcomes(search),
    domain: search.domain ?? "",
    destination: search.destination ?? "",
    site: search.site ?? "",
    open: search.open === "yes",
    keyId: search.sender ?? "",
    metadataKey: search.key ?? "",
    metadataValue: search.key ? (search.value ?? "") : "",
    createdAfter: createdAfter && timestampFromDate(createdAfter),
    createdBefore: createdBefore && timestampFromDate(createdBefore),
  };
}

/** Several outcomes are separated by commas, for links from figures that add them up. */
export function chosenOutcomes(search: EmailSearch) {
  return (search.outcome ?? "").split(",").flatMap((name) => outcomeByName(name) ?? []);
}

/** A period counts back from now and takes precedence over two times. */
export function rangeOf(search: EmailSearch, now: Date): { createdAfter?: Date; createdBefore?: Date } {
  const period = periods[search.since ?? ""];
  if (period) return { createdAfter: new Date(now.getTime() - period.ms) };
  return { createdAfter: timeOf(search.from, 0), createdBefore: timeOf(search.until, 1) };
}

/** A day stands for its beginning, or with `daysLater` 1 for its end. Text that is no time has no effect. */
function timeOf(text: string | undefined, daysLater: number): Date | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text ?? "") ?? [];
  const time = year ? new Date(Number(year), Number(month) - 1, Number(day) + daysLater) : new Date(text ?? "");
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** The label of the period menu. */
export function periodText(search: EmailSearch): string {
  const period = periods[search.since ?? ""];
  if (period) return period.name;
  const [from, until] = [pointText(search.from), pointText(search.until)];
  if (from && until) return from === until ? from : `${from} – ${until}`;
  if (from) return `Since ${from}`;
  return until ? `Until ${until}` : "Any time";
}

function pointText(text: string | undefined): string {
  const time = timeOf(text, 0);
  if (!time) return "";
  return text!.includes("T") ? timeText(time) : dayText(time);
}
