/**
 * The index by which ListEmails finds words, addresses and metadata (../rules/terms.ts): table email_terms. The statement that accepts emails
 * only notes them in email_arrivals, and term-loop.ts indexes them a moment later. sites.ts adds the sites that the mail went to.
 */
import type { Backfill } from "../../postgres/backfill.ts";
import type { Sql } from "../../postgres/pool.ts";
import { byWeek, inWeek, type Tables } from "../../postgres/weeks.ts";
import { type Searchable, termsOf } from "../rules/terms.ts";

export type EmailKey = { workspaceId: string; id: string };

export type IndexLimits = {
  /** Where to begin among the workspaces, so that all get their turn. */
  after: string | undefined;
  /** At most so many workspaces, and so many accept statements of each. */
  workspaces: number;
  arrivals: number;
};

/** `after`: where the next call begins; undefined when this one has reached the end. */
export type Indexed = { emails: number; after: string | undefined; behind: boolean };

/** At most so many emails are in memory at a time, and so many terms in one statement: an email may have 1,000 recipients. */
export const emailsAtOnce = 200;
export const termsAtOnce = 5_000;

/**
 * Indexes arrived emails and deletes their notes in one transaction. Nodes share the work: each takes notes that no other has locked. The
 * commit does not wait for the disk: a crash that loses it brings the notes back.
 */
export async function indexArrivals(sql: Sql, { after, workspaces, arrivals }: IndexLimits): Promise<Indexed> {
  return await sql.begin(async (tx) => {
    await tx`select set_config('synchronous_commit', 'off', true)`;
    const taken = await tx<{ workspaceId: string; ids: string[] }[]>`
      with recursive busy as (
        (select workspace_id, 1 as place from email_arrivals ${after ? tx`where workspace_id > ${after}` : tx``} order by workspace_id limit 1)
        union all
        select (select workspace_id from email_arrivals where workspace_id > b.workspace_id order by workspace_id limit 1), b.place + 1
        from busy b where b.workspace_id is not null and b.place < ${workspaces}
      ), turn as (
        select a.workspace_id, a.newest from busy b cross join lateral (
          select workspace_id, newest from email_arrivals where workspace_id = b.workspace_id order by newest limit ${arrivals}
          for update skip locked) a
      )
      delete from email_arrivals a using turn t where a.workspace_id = t.workspace_id and a.newest = t.newest
      returning a.workspace_id as "workspaceId", a.email_ids as ids`;
    const emails = taken.flatMap(({ workspaceId, ids }) => ids.map((id) => ({ workspaceId, id })));
    for (let from = 0; from < emails.length; from += emailsAtOnce)
      await indexEmails(tx, emails.slice(from, from + emailsAtOnce));
    const served = new Map<string, number>();
    for (const { workspaceId } of taken) served.set(workspaceId, (served.get(workspaceId) ?? 0) + 1);
    const isFull = served.size === workspaces;
    const last = [...served.keys()].sort().at(-1);
    const behind = isFull || [...served.values()].some((count) => count === arrivals);
    return { emails: emails.length, after: isFull ? last : undefined, behind };
  });
}

export async function indexEmails(tx: Sql, emails: readonly EmailKey[]): Promise<void> {
  for await (const postings of postingsOf(tx, emails)) await storeNewPostings(tx, postings);
}

/** For emails that are deleted before their partition is: call it while their recipients are still stored. Terms of sites stay: they say
 * nothing about a person. */
export async function forgetTerms(tx: Sql, emails: readonly EmailKey[]): Promise<void> {
  for await (const postings of postingsOf(tx, emails))
    await tx`
      delete from email_terms t using unnest(${postings.map((one) => one.workspaceId)}::uuid[], ${postings.map(({ term }) => term)}::bigint[],
        ${postings.map(({ id }) => id)}::uuid[]) as p(workspace_id, term, email_id)
      where t.workspace_id = p.workspace_id and t.term = p.term and t.email_id = p.email_id`;
}

async function* postingsOf(tx: Sql, emails: readonly EmailKey[]): AsyncGenerator<Posting[]> {
  let postings: Posting[] = [];
  for (const [week, some] of byWeek(emails, ({ id }) => id)) {
    const rows = await inWeek(tx, week, (own, tables) => readSearchable(own, some, tables), { inTransaction: true });
    for (const row of rows) {
      postings.push(...termsOf(row).map((term) => ({ workspaceId: row.workspaceId, term: String(term), id: row.id })));
      if (postings.length < termsAtOnce) continue;
      yield postings;
      postings = [];
    }
  }
  yield postings;
}

async function readSearchable(tx: Sql, emails: readonly EmailKey[], tables: Tables) {
  return await tx<(EmailKey & Searchable)[]>`
    select e.workspace_id as "workspaceId", e.id, e.subject, e.metadata, r.addresses
    from unnest(${emails.map((one) => one.workspaceId)}::uuid[], ${emails.map(({ id }) => id)}::uuid[]) as k(workspace_id, id)
    cross join lateral (select workspace_id, id, subject, metadata from ${tables("emails")} where workspace_id = k.workspace_id and id = k.id offset 0) e
    cross join lateral (
      select coalesce(array_agg(address), '{}') as addresses from ${tables("recipients")} where workspace_id = k.workspace_id and email_id = k.id) r`;
}

export type Posting = { workspaceId: string; term: string; id: string };

export async function storePostings(tx: Sql, postings: readonly Posting[]): Promise<void> {
  if (postings.length > 0) await tx`${insertPostings(tx, postings)} on conflict do nothing`;
}

/** Only a backfill indexes emails twice, so a check for rows that exist, which costs more than the insert, is made after a failure only. */
async function storeNewPostings(tx: Sql, postings: readonly Posting[]): Promise<void> {
  if (postings.length === 0) return;
  try {
    await tx.begin(async (inner) => await insertPostings(inner, postings));
  } catch (error) {
    if ((error as { code?: string }).code !== "23505") throw error;
    await storePostings(tx, postings);
  }
}

function insertPostings(sql: Sql, postings: readonly Posting[]) {
  return sql`
    insert into email_terms (workspace_id, term, email_id)
    select * from unnest(${postings.map((one) => one.workspaceId)}::uuid[], ${postings.map(({ term }) => term)}::bigint[],
      ${postings.map(({ id }) => id)}::uuid[]) as p(workspace_id, term, email_id) order by workspace_id, term, email_id`;
}

/** The next workspace that has emails to index. */
export async function nextArrivals(sql: Sql, after: string | undefined): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select workspace_id as id from email_arrivals ${after ? sql`where workspace_id > ${after}` : sql``} order by workspace_id limit 1`;
  return row?.id;
}

/** Emails that programs without the index accepted. By the primary key. */
export const termsOfEarlierEmails: Backfill = {
  name: "search terms of emails",
  since: 34,
  async batch(tx, position, limit) {
    const after = position?.split(" ") ?? [];
    const emails = await tx<EmailKey[]>`
      select workspace_id as "workspaceId", id from emails
      ${position ? tx`where (workspace_id, id) > (${after[0]!}::uuid, ${after[1]!}::uuid)` : tx``}
      order by workspace_id, id limit ${Math.min(limit, emailsAtOnce)}`;
    if (emails.length > 0) await indexEmails(tx, emails);
    const last = emails.at(-1);
    const atEnd = emails.length < Math.min(limit, emailsAtOnce);
    return { position: atEnd ? null : `${last!.workspaceId} ${last!.id}`, rows: emails.length };
  },
};
