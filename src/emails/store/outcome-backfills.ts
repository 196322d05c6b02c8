/** Counts the outcomes of emails that earlier programs stored or settled (outcomes.ts keeps them since). Registered in app/backfills.ts. */
import type { Backfill } from "../../postgres/backfill.ts";
import type { Sql } from "../../postgres/pool.ts";
import { outcomeNow } from "./outcomes.ts";

type EmailKey = { workspaceId: string; id: string };

/** Recipients of every email whose counts are missing or that a program without counts has changed. By the primary key. */
export const outcomesOfEarlierEmails: Backfill = {
  name: "outcomes of emails",
  since: 33,
  async batch(tx, position, limit) {
    const after = position?.split(" ") ?? [];
    const page = await tx<(EmailKey & { counted: boolean })[]>`
      select workspace_id as "workspaceId", id, counted_at is not distinct from updated_at as counted from emails
      ${position ? tx`where (workspace_id, id) > (${after[0]!}::uuid, ${after[1]!}::uuid)` : tx``} order by workspace_id, id limit ${limit}`;
    const emails = page.filter(({ counted }) => !counted);
    if (emails.length > 0) {
      await lock(tx, emails);
      await tx`
        update emails e set delayed = n.delayed, delivered = n.delivered, sent = n.sent, bounced = n.bounced, failed = n.failed,
          suppressed = n.suppressed, canceled = n.canceled, counted_at = e.updated_at
        from ${keys(tx, emails)} cross join lateral (
          select count(*) filter (where status = 'delayed') as delayed, count(*) filter (where status = 'delivered') as delivered,
            count(*) filter (where status = 'sent') as sent, count(*) filter (where status = 'bounced') as bounced,
            count(*) filter (where status = 'failed') as failed, count(*) filter (where status = 'suppressed') as suppressed,
            count(*) filter (where status = 'canceled') as canceled
          from recipients where workspace_id = k.workspace_id and email_id = k.id) n
        where e.workspace_id = k.workspace_id and e.id = k.id`;
      await list(tx, emails);
    }
    const last = page.at(-1);
    return { position: page.length < limit ? null : `${last!.workspaceId} ${last!.id}`, rows: emails.length };
  },
};

/** Complaints and replies, which earlier programs wrote to the event log only. By the primary key of the log. */
export const complaintsOfEarlierEmails: Backfill = {
  name: "complaints and replies of emails",
  since: 33,
  async batch(tx, position, limit) {
    const after = position?.split(" ") ?? [];
    const page = await tx<{ workspaceId: string; number: string; emailId: string | null }[]>`
      select workspace_id as "workspaceId", number, case when type in ('email.complained', 'email.replied') then email_id end as "emailId" from events
      ${position ? tx`where (workspace_id, number) > (${after[0]!}::uuid, ${after[1]!}::bigint)` : tx``} order by workspace_id, number limit ${limit}`;
    const named = page.filter(({ emailId }) => emailId !== null);
    const emails = [
      ...new Map(named.map((row) => [row.emailId, { workspaceId: row.workspaceId, id: row.emailId! }])).values(),
    ];
    if (emails.length > 0) {
      await lock(tx, emails);
      await tx`
        update emails e set complained = n.complaints, replied = n.replies > 0
        from ${keys(tx, emails)} cross join lateral (
          select count(*) filter (where type = 'email.complained' and payload ->> 'feedbackType' is distinct from 'not-spam') as complaints, count(*) filter (where type = 'email.replied') as replies
          from events where email_id = k.id and workspace_id = k.workspace_id) n
        where e.workspace_id = k.workspace_id and e.id = k.id`;
      await list(tx, emails);
    }
    const last = page.at(-1);
    return { position: page.length < limit ? null : `${last!.workspaceId} ${last!.number}`, rows: emails.length };
  },
};

export type ListPosition = { workspaceId: string; outcome: string; emailId: string };

/**
 * Corrects rows of email_outcomes, at most `limit` after a position, and returns the next position, undefined at the end. A row is wrong when
 * its email was dropped, and when two statements settled its recipients at the same time: the later one does not see the row of the earlier.
 */
export async function correctList(
  sql: Sql,
  position: ListPosition | undefined,
  limit: number,
): Promise<{ next: ListPosition | undefined; corrected: number }> {
  const after = position
    ? sql`where (workspace_id, outcome, email_id) > (${position.workspaceId}::uuid, ${position.outcome}, ${position.emailId}::uuid)`
    : sql``;
  return await sql.begin(async (tx) => {
    const page = await tx<(ListPosition & { isWrong: boolean })[]>`
      select o.workspace_id as "workspaceId", o.outcome, o.email_id as "emailId", o.outcome is distinct from e.outcome as "isWrong"
      from (select workspace_id, outcome, email_id from email_outcomes ${after} order by workspace_id, outcome, email_id limit ${limit}) o
      left join lateral (select ${outcomeNow(tx)} as outcome from emails where workspace_id = o.workspace_id and id = o.email_id offset 0) e on true`;
    const wrong = page
      .filter(({ isWrong }) => isWrong)
      .map(({ workspaceId, emailId }) => ({ workspaceId, id: emailId }));
    if (wrong.length > 0) {
      await lock(tx, wrong);
      await list(tx, wrong);
    }
    return { next: page.length < limit ? undefined : page.at(-1), corrected: wrong.length };
  });
}

function keys(tx: Sql, emails: readonly EmailKey[]) {
  return tx`unnest(${emails.map((one) => one.workspaceId)}::uuid[], ${emails.map(({ id }) => id)}::uuid[]) as k(workspace_id, id)`;
}

/** In the order of delivery/store/settle.ts. A later statement reads what was committed before the locks were taken. */
async function lock(tx: Sql, emails: readonly EmailKey[]): Promise<void> {
  const byId = emails.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  await tx`select 1 from ${keys(tx, byId)} cross join lateral (
    select 1 from emails where workspace_id = k.workspace_id and id = k.id limit 1 for update) e`;
}

/** Lists the locked emails under the outcome that their counts have now. */
async function list(tx: Sql, emails: readonly EmailKey[]): Promise<void> {
  await tx`
    delete from email_outcomes o using ${keys(tx, emails)} where o.workspace_id = k.workspace_id and o.email_id = k.id
      and o.outcome in ('complained', 'bounced', 'failed', 'suppressed', 'delayed', 'queued', 'canceled')`;
  await tx`
    insert into email_outcomes (workspace_id, outcome, email_id)
    select distinct e.workspace_id, e.outcome, e.id from ${keys(tx, emails)} cross join lateral (
      select workspace_id, id, counted_at, ${outcomeNow(tx)} as outcome from emails where workspace_id = k.workspace_id and id = k.id) e
    where e.counted_at is not null and e.outcome not in ('sent', 'delivered')`;
}
