/** Reads emails for EmailService: one with its recipients, progress, threads. Also cancels waiting recipients. list.ts has the lists. */
import { systemKeyId } from "../../keys/store.ts";
import type { Sql } from "../../postgres/pool.ts";
import { shownTime } from "../../postgres/service-clock.ts";
import { byWeek, inWeek, type Tables, tablesOf } from "../../postgres/weeks.ts";
import type { OutcomeCounts } from "../rules/outcome.ts";
import type { RecipientKind } from "../rules/request.ts";
import type { Envelope } from "./emails.ts";
import { countColumns, countMoves } from "./outcomes.ts";

export type EmailState = "queued" | "processing" | "sent" | "failed";

export type EmailRow = {
  id: string;
  keyId: string | null;
  domain: string;
  subject: string;
  messageId: string;
  envelope: Envelope;
  metadata: Record<string, string>;
  test: boolean;
  status: EmailState;
  statusMessage: string;
  sizeBytes: string;
  contentDay: string;
  hasContent: boolean;
  scheduledAt: Date | null;
  expiresAt: Date;
  createdAt: Date;
  updatedAt: Date;
  counts: OutcomeCounts;
  replied: boolean;
};

export type RecipientRow = {
  kind: RecipientKind;
  address: string;
  status: "queued" | "processing" | "delayed" | "delivered" | "sent" | "bounced" | "failed" | "suppressed" | "canceled";
  attempts: number;
  reply: string | null;
  remoteMx: string | null;
  lastAttemptAt: Date | null;
  dueAt: Date;
  settledAt: Date | null;
};

/** With `keyId`, an email that another key sent is not found. */
export async function getEmail(
  sql: Sql,
  workspaceId: string,
  id: string,
  keyId?: string,
): Promise<EmailRow | undefined> {
  const [row] = await sql<EmailRow[]>`
    select ${columns(sql)} from emails e ${counts(sql)} where e.workspace_id = ${workspaceId} and e.id = ${id} ${keyId ? sql`and e.key_id = ${keyId}` : sql``}`;
  return row;
}

export async function getRecipients(sql: Sql, workspaceId: string, emailId: string): Promise<RecipientRow[]> {
  return await sql<RecipientRow[]>`
    select kind, address, case when lease is not null and status in ('queued', 'delayed') then 'processing' else status end as status, attempts,
      reply, remote_mx as "remoteMx", last_attempt_at as "lastAttemptAt", ${shownTime(sql, sql`due_at`)} as "dueAt", settled_at as "settledAt"
    from recipients where workspace_id = ${workspaceId} and email_id = ${emailId} order by position`;
}

/** The progress of first attempts, for synchronous callers. `untried` counts recipients that were not attempted yet. */
export async function progressOf(
  sql: Sql,
  emails: readonly { workspaceId: string; id: string }[],
): Promise<Progress[]> {
  const weeks = byWeek(emails, ({ id }) => id);
  const read = ([week, some]: (typeof weeks)[number]) =>
    inWeek(sql, week, (own, tables) => progressInWeek(own, some, tables));
  return (await Promise.all(weeks.map(read))).flat();
}

type Progress = { id: string; status: EmailState; statusMessage: string; untried: number };

async function progressInWeek(sql: Sql, emails: readonly { workspaceId: string; id: string }[], tables: Tables) {
  return await sql<Progress[]>`
    select e.id, ${statusOf(sql, tables)} as status, e.status_message as "statusMessage",
      (select count(*)::int from ${tables("recipients")} r where r.workspace_id = e.workspace_id and r.email_id = e.id and r.status = 'queued') as untried
    from ${tables("emails")} e where (e.workspace_id, e.id) in (
      select * from unnest(${emails.map((e) => e.workspaceId)}::uuid[], ${emails.map((e) => e.id)}::uuid[]))`;
}

/** Cancels every waiting recipient that is not being attempted, with one event for all of them. Takes the same locks as settling. */
export async function cancelEmail(
  sql: Sql,
  input: { workspaceId: string; id: string; eventId: string },
): Promise<{ found: boolean; canceled: string[] }> {
  const [row] = await sql.write<{ found: boolean; canceled: string[] | null }[]>`
    with waiting as materialized (
      select r.workspace_id, r.email_id, r.position, r.address, r.status as was from recipients r where r.workspace_id = ${input.workspaceId} and r.email_id = ${input.id}
        and r.status in ('queued', 'delayed') and r.lease is null order by r.position for update
    ), mail as materialized (
      select ${countColumns(sql)}, message_id, metadata from emails where workspace_id = ${input.workspaceId} and id = ${input.id}
        and (select count(*) from waiting) >= 0 for update
    ), bump as (
      update event_counters set last = last + 1 where workspace_id = ${input.workspaceId} and (select count(*) from waiting) > 0
        and (select count(*) from mail) > 0 returning last
    ), recipient as (
      update recipients r set status = 'canceled', settled_at = now() from waiting w
      where r.workspace_id = ${input.workspaceId} and r.email_id = ${input.id} and r.position = w.position
    ), moves as (
      select workspace_id, email_id, was, 'canceled' as status, 'canceled' as reply from waiting
    ), ${countMoves(sql)}, event as (
      insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
      select ${input.workspaceId}, b.last, ${input.eventId}, 'email.canceled', m.id, m.message_id, m.metadata,
        jsonb_build_object('recipients', (select jsonb_agg(address order by position) from waiting)), (select stamp_time())
      from bump b, mail m
    )
    select exists (select 1 from mail) as found, (select array_agg(address order by position) from waiting) as canceled`;
  return { found: row!.found, canceled: row!.canceled ?? [] };
}

/** With `counts` in the from clause. */
export function columns(sql: Sql, tables = tablesOf(sql, undefined)) {
  return sql`e.id, e.key_id as "keyId", e.domain, e.subject, e.message_id as "messageId", e.envelope, e.metadata, e.test, ${statusOf(sql, tables)} as status,
    e.status_message as "statusMessage", e.size_bytes as "sizeBytes", e.content_day::text as "contentDay",
    -- Content is deleted by dropping the partition of its day.
    to_regclass('email_contents_p' || to_char(e.content_day, 'YYYYMMDD')) is not null as "hasContent",
    e.scheduled_at as "scheduledAt", e.expires_at as "expiresAt", e.created_at as "createdAt", e.updated_at as "updatedAt",
    json_build_object('queued', n.open - n.delayed, 'delayed', n.delayed, 'delivered', n.delivered, 'sent', n.sent, 'bounced', n.bounced,
      'failed', n.failed, 'suppressed', n.suppressed, 'canceled', n.canceled, 'complained', n.complained) as counts, e.replied`;
}

/** A join that adds the counts `n` to `emails e`: those of the row, or counted now if another program has changed the row (outcomes.ts). */
export function counts(sql: Sql, tables = tablesOf(sql, undefined)) {
  return sql`cross join lateral (
      select e.open, e.delayed::int, e.delivered::int, e.sent::int, e.bounced::int, e.failed::int, e.suppressed::int, e.canceled::int, e.complained::int
      where e.counted_at = e.updated_at
    union all
      select e.open, count(*) filter (where status = 'delayed')::int, count(*) filter (where status = 'delivered')::int,
        count(*) filter (where status = 'sent')::int, count(*) filter (where status = 'bounced')::int,
        count(*) filter (where status = 'failed')::int, count(*) filter (where status = 'suppressed')::int,
        count(*) filter (where status = 'canceled')::int, e.complained::int
      from ${tables("recipients")} where e.counted_at is distinct from e.updated_at and workspace_id = e.workspace_id and email_id = e.id
      having e.counted_at is distinct from e.updated_at
    ) n`;
}

/** PROCESSING is not stored, which saves a write: it applies while a recipient of an open email is leased. */
function statusOf(sql: Sql, tables = tablesOf(sql, undefined)) {
  return sql`case when e.open > 0 and ${isLeased(sql, tables)} then 'processing' else e.status end`;
}

export function isLeased(sql: Sql, tables = tablesOf(sql, undefined)) {
  // OFFSET 0 keeps the planner, which expects many emails, from hashing all recipients for a page of fifty.
  return sql`exists (select 1 from ${tables("recipients")} r where r.workspace_id = e.workspace_id and r.email_id = e.id and r.lease is not null offset 0)`;
}

/** The Message-ID of an email or inbound message, and the References before it. */
export type ThreadLink = { messageId: string; references: string[] };

export async function findThread(
  sql: Sql,
  workspaceId: string,
  kind: "email" | "inbound",
  id: string,
): Promise<ThreadLink | undefined> {
  const [row] =
    kind === "email"
      ? await sql<ThreadLink[]>`
          select message_id as "messageId", coalesce(envelope -> 'references', '[]') as references
          from emails where workspace_id = ${workspaceId} and id = ${id}`
      : await sql<ThreadLink[]>`
          select message_id as "messageId", coalesce(summary -> 'references', '[]') as references
          from inbound_messages where workspace_id = ${workspaceId} and id = ${id} and message_id is not null`;
  return row;
}

/** The newest email with this Message-ID, which its sender chose. Index: the primary key of email_message_ids. */
export async function findThreadByMessageId(
  sql: Sql,
  workspaceId: string,
  messageId: string,
): Promise<ThreadLink | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select email_id as id from email_message_ids where workspace_id = ${workspaceId} and message_id = ${messageId.toLowerCase()}
    order by email_id desc limit 1`;
  return row && (await findThread(sql, workspaceId, "email", row.id));
}

/** Which of these emails exist, for the local mailbox, which deletes captured mail of deleted emails and of deleted inviters. A file name has
 * no workspace, but every captured email has an event that names it. Index events_by_email and the primary key. */
export async function findEmails(sql: Sql, ids: readonly string[]): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select e.id from unnest(${ids as string[]}::uuid[]) as k(id)
    cross join lateral (select workspace_id from events where email_id = k.id limit 1) v
    cross join lateral (select id from emails where workspace_id = v.workspace_id and id = k.id
      and (key_id is distinct from ${systemKeyId} or not metadata @> '{"inviter": "deleted"}') limit 1) e`;
  return new Set(rows.map(({ id }) => id));
}
