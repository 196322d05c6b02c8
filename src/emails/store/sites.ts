/**
 * The sites of emails in the index of ListEmails, table email_terms. stats/store/fold.ts calls it in the transaction that counts events at
 * their site, so that the log finds the emails behind a figure as soon as the figure has them.
 */
import { siteOfHost } from "../../dns/site.ts";
import type { Backfill } from "../../postgres/backfill.ts";
import { uuidTime } from "../../postgres/ids.ts";
import { listPartitions, partitionOf } from "../../postgres/partitions.ts";
import type { Sql } from "../../postgres/pool.ts";
import { siteTerm } from "../rules/terms.ts";
import { type EmailKey, emailsAtOnce, type Posting, storePostings, termsAtOnce } from "./terms.ts";

export type EmailAtSite = EmailKey & { site: string };

/**
 * Emails whose partition of the index does not exist are left out. The caller has read the emails in this transaction. It therefore has a lock
 * on their partitions, and the partitions of the index are dropped only together with these.
 */
export async function indexSites(tx: Sql, emails: readonly EmailAtSite[]): Promise<void> {
  if (emails.length === 0) return;
  const existing = new Set((await listPartitions(tx)).map(({ name }) => name));
  const terms = new Map([...new Set(emails.map(({ site }) => site))].map((site) => [site, siteTerm(site)]));
  const postings = emails
    .filter(({ id }) => existing.has(partitionOf("email_terms", uuidTime(id)).name))
    .map(({ workspaceId, id, site }) => ({ workspaceId, term: terms.get(site)!, id }))
    .sort(byKey);
  for (let from = 0; from < postings.length; from += termsAtOnce) {
    const some = postings.slice(from, from + termsAtOnce);
    await storePostings(
      tx,
      some.map((one): Posting => ({ ...one, term: String(one.term) })),
    );
  }
}

/** The order in which storePostings inserts, over all statements: two transactions with the same rows wait for each other and do not deadlock. */
function byKey(a: { workspaceId: string; term: bigint; id: string }, b: typeof a): number {
  if (a.workspaceId !== b.workspaceId) return a.workspaceId < b.workspaceId ? -1 : 1;
  if (a.term !== b.term) return a.term < b.term ? -1 : 1;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

/** Emails that programs without the sites counted. By the primary keys of emails and recipients. */
export const sitesOfEarlierEmails: Backfill = {
  name: "sites of emails",
  since: 41,
  async batch(tx, position, limit) {
    const after = position?.split(" ") ?? [];
    const most = Math.min(limit, emailsAtOnce);
    const emails = await tx<(EmailKey & { hosts: string[] })[]>`
      select e.workspace_id as "workspaceId", e.id, r.hosts
      from (select workspace_id, id from emails
        ${position ? tx`where (workspace_id, id) > (${after[0]!}::uuid, ${after[1]!}::uuid)` : tx``}
        order by workspace_id, id limit ${most}) e
      cross join lateral (select coalesce(array_agg(distinct remote_mx), '{}') as hosts from recipients
        where workspace_id = e.workspace_id and email_id = e.id and remote_mx <> '') r
      order by e.workspace_id, e.id`;
    await indexSites(
      tx,
      emails.flatMap(({ workspaceId, id, hosts }) =>
        [...new Set(hosts.map(siteOfHost))].map((site) => ({ workspaceId, id, site })),
      ),
    );
    const last = emails.at(-1);
    return { position: emails.length < most ? null : `${last!.workspaceId} ${last!.id}`, rows: emails.length };
  },
};
