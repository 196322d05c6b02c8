/** Notices to a workspace: an event in its log and mail to its owners, both written in one statement with what they report. Each threshold
 * of a quota is reported once per window, whichever node notices it. Called by ../quotas.ts and ../watch.ts. */
import type { Sql } from "../../postgres/pool.ts";
import type { QuotaKind } from "../rules/limits.ts";

export type Notice = {
  eventId: string;
  workspaceId: string;
  type: string;
  payload: Record<string, unknown>;
  mail: { subject: string; body: string };
};

/** `windowStartMs`: for a quota without a window, the current service time. */
export type QuotaNotice = Notice & { kind: QuotaKind; percent: number; windowStartMs: number; hasWindow: boolean };

/** CTEs that append the event and store the mail, if the condition holds. The event's counter is locked last, as in delivery/store/settle.ts. */
export function noticed(sql: Sql, notice: Notice, condition: ReturnType<Sql>) {
  const { workspaceId, eventId, type, payload, mail } = notice;
  return sql`
    bump as (update event_counters set last = last + 1 where workspace_id = ${workspaceId} and ${condition} returning last),
    mailed as (
      insert into owner_mails (id, workspace_id, subject, body, created_at)
      select ${eventId}::uuid, ${workspaceId}::uuid, ${mail.subject}::text, ${mail.body}::text, (select service_time()) from bump
    ), event as (
      insert into events (workspace_id, number, id, type, payload, created_at)
      select ${workspaceId}::uuid, last, ${eventId}::uuid, ${type}::text, ${JSON.stringify(payload)}::text::jsonb, (select stamp_time()) from bump
      returning number
    )`;
}

/** False: the threshold was reported in this window before. A quota without a window is reported again when it was below the threshold, but
 * at most once a day: a tenant could add and delete things all day. */
export async function noteQuota(sql: Sql, notice: QuotaNotice): Promise<boolean> {
  const { workspaceId, kind, percent, windowStartMs, hasWindow } = notice;
  const rows = await sql<object[]>`
    with noted as (
      insert into quota_notices as n (workspace_id, kind, percent, window_start)
      select ${workspaceId}, ${kind}, p.percent, to_timestamp(${windowStartMs}::float8 / 1000)
      from unnest('{80, 100}'::smallint[]) as p(percent) where p.percent <= ${percent} order by p.percent
      on conflict (workspace_id, kind, percent) do update set window_start = excluded.window_start, was_below = false
      where n.window_start < excluded.window_start
        and (${hasWindow} or n.was_below and n.window_start < excluded.window_start - interval '1 day')
      returning percent
    ), ${noticed(sql, notice, sql`exists (select 1 from noted where percent = ${percent})`)}
    select 1 from event`;
  return rows.length > 0;
}

/** Notes that a quota without a window is below a threshold again. */
export async function noteBelow(
  sql: Sql,
  below: readonly { workspaceId: string; kind: QuotaKind; percent: number }[],
): Promise<void> {
  await sql`
    update quota_notices n set was_below = true from unnest(${below.map((b) => b.workspaceId)}::uuid[], ${below.map((b) => b.kind)}::text[],
      ${below.map((b) => b.percent)}::smallint[]) as b(workspace_id, kind, percent)
    where n.workspace_id = b.workspace_id and n.kind = b.kind and n.percent = b.percent and not n.was_below`;
}

export type OwnerMail = { id: string; workspaceId: string; subject: string; body: string; owners: string[] };

/** Deletes mail that could not be sent for a day, for example because no sender is set: it would report what has long changed. */
export async function forgetOldOwnerMails(sql: Sql): Promise<void> {
  await sql`delete from owner_mails where created_at < (select service_time()) - interval '1 day'`;
}

/** Mail that is not in the queue yet, oldest first. */
export async function readOwnerMails(sql: Sql): Promise<OwnerMail[]> {
  return await sql<OwnerMail[]>`
    select o.id, o.workspace_id as "workspaceId", o.subject, o.body, array(select m.email from members m
      where m.workspace_id = o.workspace_id and m.role = 'owner' and m.person_id is not null order by m.email) as owners
    from owner_mails o order by o.id limit 100`;
}

export async function forgetOwnerMail(sql: Sql, id: string): Promise<void> {
  await sql`delete from owner_mails where id = ${id}`;
}
