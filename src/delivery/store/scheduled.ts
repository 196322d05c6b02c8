/** Computes the due times of scheduled mail again when wall time and service time have moved apart: the caller named a wall time, and
 * recipients.due_at is service time. Called by ../scheduled.ts. */
import type { Sql } from "../../postgres/pool.ts";

/** The last email of a batch. */
export type ScheduledPosition = { at: string; id: string };

const noId = "00000000-0000-0000-0000-000000000000";

export function positionBefore(wallMs: number): ScheduledPosition {
  return { at: new Date(wallMs).toISOString(), id: noId };
}

/**
 * Updates recipients that were never attempted, and the default expiry of their email. Rows that another session has locked are skipped: the
 * next pass finds them. Returns where the next batch starts, or undefined at the end. Index emails_scheduled.
 */
export async function rescheduleSome(
  sql: Sql,
  after: ScheduledPosition,
  limit: number,
): Promise<ScheduledPosition | undefined> {
  const [row] = await sql<{ emails: number; at: string | null; id: string | null }[]>`
    with moment as materialized (select service_time() as service, wall_at - service_at as lag from service_clock), page as materialized (
      select e.workspace_id, e.id, e.scheduled_at, e.open, e.expires_at - greatest(e.created_at, e.scheduled_at) as retry_for,
        greatest(m.service, e.scheduled_at - m.lag) as due_at
      from emails e cross join moment m
      where e.scheduled_at is not null and e.scheduled_at >= ${after.at}::timestamptz
        and (e.scheduled_at, e.id) > (${after.at}::timestamptz, ${after.id}::uuid)
      order by e.scheduled_at, e.id limit ${limit}
    ), waiting as materialized (
      select p.workspace_id, p.id, p.due_at, p.retry_for, r.part, r.row_location, r.position from (select * from page where open > 0 offset 0) p cross join lateral (
        select r.tableoid as part, r.ctid as row_location, r.position from recipients r where r.workspace_id = p.workspace_id and r.email_id = p.id and r.status || '' = 'queued'
          and r.attempts = 0 and r.lease is null and (r.due_at < p.due_at - interval '100 ms' or r.due_at > p.due_at + interval '100 ms')
        limit 1000 for update skip locked) r
    ), recipient as (
      -- By ctid, as in lease.ts: a row that UpdateEmail has changed since this statement began already has its due time. The conditions
      -- on position and open are always true. They make the planner expect few rows, so that it does not read whole tables.
      update recipients r set due_at = w.due_at from (select * from waiting where position + 0 = position) w
      where r.ctid = w.row_location and r.tableoid = w.part
      returning w.workspace_id, w.id, w.due_at, w.retry_for
    ), mail as materialized (
      select p.workspace_id, p.id, p.due_at + p.retry_for as default_expires_at, e.open
      from (select distinct workspace_id, id, due_at, retry_for from recipient) p cross join lateral (
        select e.open from emails e where e.workspace_id = p.workspace_id and e.id = p.id and e.default_expires_at is not null
        limit 1 for update skip locked) e
    ), email as (
      update emails e set default_expires_at = m.default_expires_at from (select * from mail where open + 0 = open) m where e.workspace_id = m.workspace_id and e.id = m.id
    )
    select count(*)::int as emails, (array_agg(scheduled_at::text order by scheduled_at desc, id desc))[1] as at,
      (array_agg(id::text order by scheduled_at desc, id desc))[1] as id from page`;
  return row!.emails < limit ? undefined : { at: row!.at!, id: row!.id! };
}

/** Records wall time minus service time, with which the due times now agree. */
export async function recordLag(sql: Sql, lagMs: number): Promise<void> {
  await sql`update service_clock set scheduled_lag = ${lagMs}::float8 * interval '1 millisecond'`;
}
