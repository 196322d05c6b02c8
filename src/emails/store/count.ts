/** Counts the emails of a list by outcome, for CountEmails. Reads a bounded number of rows. */
import type { Sql } from "../../postgres/pool.ts";
import { listedOutcomes, type Outcome, outcomes } from "../rules/outcome.ts";
import { type EmailFilter, isFound, readFound } from "./list.ts";

/** `atLeast`: there are more. */
export type Count = { emails: number; atLeast: boolean };
export type EmailCounts = { byOutcome: Record<Outcome, Count>; total: Count };

export type CountedFilter = Omit<EmailFilter, "before" | "limit" | "mostCandidates">;

const mostEmails = 10_000;
/** Of the outcomes that have a list, if that list is longer than the newest emails reach. */
const mostListed = 1_000;
/** A search is checked email by email, outside the database. */
const mostSearched = 1_000;

export async function countEmails(sql: Sql, filter: CountedFilter): Promise<EmailCounts> {
  const newest = await countNewest(sql, filter, filter.search ? mostSearched : mostEmails);
  if (!newest.total.atLeast || !hasTimeOnly(filter)) return newest;
  const wanted = listedOutcomes.filter((outcome) => filter.outcomes?.includes(outcome) ?? true);
  for (const outcome of wanted) {
    const listed = await countNewest(sql, { ...filter, outcomes: [outcome] }, mostListed);
    const found = listed.byOutcome[outcome];
    if (found.emails >= newest.byOutcome[outcome].emails) newest.byOutcome[outcome] = found;
  }
  return newest;
}

/** Counts among the newest `most` emails that the index of the filter leads to. */
async function countNewest(sql: Sql, filter: CountedFilter, most: number): Promise<EmailCounts> {
  const { rows, isCut } = await readFound(sql, filter, most);
  const { search } = filter;
  const byOutcome = Object.fromEntries(outcomes.map((outcome) => [outcome, { emails: 0, atLeast: isCut }]));
  const counted = byOutcome as Record<Outcome, Count>;
  let total = 0;
  for (const row of rows) {
    if (search && !isFound(row, search)) continue;
    counted[row.outcome].emails += row.emails;
    total += row.emails;
  }
  return { byOutcome: counted, total: { emails: total, atLeast: isCut } };
}

/** Without a filter that reads emails which the lists of outcomes do not lead to. */
function hasTimeOnly(filter: CountedFilter): boolean {
  const { status, keyId, recipient, domain, destination, open, site, metadataKey, search } = filter;
  const others = [status, keyId, recipient, domain, destination, open, site, metadataKey, search];
  return others.every((one) => one === undefined);
}
