/** What a list of emails is filtered by, and the conditions that the index of the list does not check: on an email `e` with the counts `n` of
 * reads.ts. Called by list.ts. */
import { hostsOf } from "../../dns/site.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Tables } from "../../postgres/weeks.ts";
import type { Outcome } from "../rules/outcome.ts";
import type { SearchWord } from "../rules/terms.ts";
import { outcomeNow } from "./outcomes.ts";
import { type EmailState, isLeased } from "./reads.ts";

/** An id or a Message-ID names one email; `messageId` is in lower case. Otherwise all words are searched for. */
export type EmailSearch = { emailId?: string; messageId?: string; words: readonly SearchWord[] };

export type EmailFilter = {
  workspaceId: string;
  before?: string;
  limit: number;
  status?: EmailState;
  outcomes?: readonly Outcome[];
  keyId?: string;
  recipient?: string;
  domain?: string;
  /** The domain of a recipient's address. */
  destination?: string;
  /** Only emails with open recipients, with `destination` there. */
  open?: boolean;
  /** The site of a recipient's server. */
  site?: string;
  metadataKey?: string;
  metadataValue?: string;
  createdAfter?: Date;
  createdBefore?: Date;
  /** An email with this id, or one that has all these words. */
  search?: EmailSearch;
  /** The most candidates to read. Default: 20 for each row of the page. */
  mostCandidates?: number;
};

type Fragment = ReturnType<Sql>;

export function conditions(sql: Sql, filter: Omit<EmailFilter, "limit">, tables: Tables) {
  const recipients = tables("recipients");
  const {
    status,
    outcomes,
    keyId,
    domain,
    metadataKey: key,
    metadataValue: value,
    recipient,
    destination,
    open,
    site,
  } = filter;
  return sql`
    ${site ? isAtSite(sql, site, tables) : sql``}
    ${statusIs(sql, status, tables)}
    ${outcomes ? sql`and (select ${outcomeNow(sql)} from (select n.*) m) = any(${outcomes}::text[])` : sql``}
    ${keyId ? sql`and e.key_id = ${keyId}` : sql``}
    ${domain ? sql`and e.domain = ${domain}` : sql``}
    ${key !== undefined ? (value === undefined ? sql`and e.metadata ? ${key}` : sql`and e.metadata @> ${JSON.stringify({ [key]: value })}::text::jsonb`) : sql``}
    ${filter.createdAfter ? sql`and e.created_at >= ${filter.createdAfter}` : sql``}
    ${filter.createdBefore ? sql`and e.created_at < ${filter.createdBefore}` : sql``}
    ${recipient ? sql`and exists (select 1 from ${recipients} r where r.workspace_id = e.workspace_id and r.email_id = e.id and lower(r.address) = lower(${recipient}) offset 0)` : sql``}
    ${open && !destination ? sql`and e.open > 0` : sql``}
    ${destination ? sql`and exists (select 1 from ${recipients} r where r.workspace_id = e.workspace_id and r.email_id = e.id and r.destination = ${destination} ${open ? sql`and r.status || '' in ('queued', 'delayed')` : sql``} offset 0)` : sql``}`;
}

/** That a recipient's server belongs to the site. */
function isAtSite(sql: Sql, name: string, tables: Tables) {
  const { site, andBelow, except } = hostsOf(name);
  const isBelow = (suffix: Fragment) => sql`right(h.host, length(${suffix}) + 1) = '.' || ${suffix}`;
  return sql`
    and exists (select 1 from ${tables("recipients")} r cross join lateral (select regexp_replace(lower(r.remote_mx), '\\.$', '') as host) h
      where r.workspace_id = e.workspace_id and r.email_id = e.id
        and (h.host = ${site} ${andBelow ? sql`or ${isBelow(sql`${site}::text`)}` : sql``})
        and not exists (select 1 from unnest(${except}::text[]) as x(suffix) where h.host = x.suffix or ${isBelow(sql`x.suffix`)}) offset 0)`;
}

function statusIs(sql: Sql, status: EmailState | undefined, tables: Tables) {
  if (status === undefined) return sql``;
  if (status === "processing") return sql`and e.open > 0 and ${isLeased(sql, tables)}`;
  if (status === "queued") return sql`and e.status = 'queued' and not ${isLeased(sql, tables)}`;
  return sql`and e.status = ${status}`;
}
