/** Parts of the statement that stores new emails (emails/store/emails.ts): they decide what each workspace may send, and count it in the
 * same transaction. They read the CTE `requested` with workspace_id, id, total, size_bytes, can_send and free, and the CTE `storable`, which
 * has first_at as well. */
import type { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import { serviceTime } from "../../postgres/service-clock.ts";
import { type QuotaDefaults, type QuotaKind, quotaExceeded, workspaceSuspended } from "../rules/limits.ts";

/** Why an email was not stored. The columns of `refusalColumns`. */
export type Refusal = {
  refusal: QuotaKind | "suspended" | null;
  suspendedReason: string | null;
  limits: Partial<Record<QuotaKind, number>>;
  hourLeftMs: number;
  dayLeftMs: number;
};

/** CTEs `share`, one row for each workspace, and `judged`, the requested emails with their `refusal`. Emails are allowed in the order of
 * their ids until the rest of a quota is used up. Primary keys of workspaces and workspace_usage, row by row: a join would read both tables. */
export function judged(sql: Sql, defaults: QuotaDefaults) {
  return sql`
    share as materialized (
      select r.workspace_id, w.*, t.*,
        case when u.hour >= t.this_hour then u.hour_recipients else 0 end as hour_used,
        case when u.day >= t.this_day then u.day_recipients else 0 end as day_used, coalesce(u.stored_bytes, 0) as stored_bytes
      from (select distinct workspace_id from requested) r
      cross join (select service_at, date_bin('1 hour', service_at, 'epoch') as this_hour, date_bin('1 day', service_at, 'epoch') as this_day
        from (select ${serviceTime(sql)} as service_at offset 0) s) t
      cross join lateral (select suspended_at is not null as suspended, suspended_reason,
          ${limit(sql, defaults, "emailsPerHour")} as hour_limit, ${limit(sql, defaults, "emailsPerDay")} as day_limit,
          ${limit(sql, defaults, "storedBytes")} as bytes_limit
        from workspaces where id = r.workspace_id limit 1) w
      left join lateral (select * from workspace_usage where workspace_id = r.workspace_id limit 1) u on true
    ), judged as materialized (
      select r.*, case when r.free then null when s.suspended then 'suspended'
        when sum(r.total) filter (where r.can_send) over earlier > s.hour_limit - s.hour_used then 'emailsPerHour'
        when sum(r.total) filter (where r.can_send) over earlier > s.day_limit - s.day_used then 'emailsPerDay'
        when sum(r.size_bytes) filter (where r.can_send) over earlier > s.bytes_limit - s.stored_bytes then 'storedBytes' end as refusal
      from requested r join share s using (workspace_id)
      window earlier as (partition by r.workspace_id order by r.id rows unbounded preceding)
    )`;
}

/** CTEs that count the stored emails. They lock the rows of the workspaces, in the order of their ids, until the commit, so they belong
 * into the last statement of a transaction. Service time may fall back by seconds, so a window never goes back. */
export function counted(sql: Sql) {
  return sql`
    counted as (
      insert into workspace_usage as u (workspace_id, hour, hour_recipients, hour_limit, day, day_recipients, day_limit, stored_bytes)
      select s.workspace_id, s.this_hour, sum(m.total), s.hour_limit, s.this_day, sum(m.total), s.day_limit, sum(m.size_bytes)
      from storable m join share s using (workspace_id) where not m.free
      group by s.workspace_id, s.this_hour, s.hour_limit, s.this_day, s.day_limit order by s.workspace_id
      on conflict (workspace_id) do update set stored_bytes = u.stored_bytes + excluded.stored_bytes,
        hour = greatest(u.hour, excluded.hour), hour_limit = excluded.hour_limit,
        hour_recipients = excluded.hour_recipients + case when u.hour >= excluded.hour then u.hour_recipients else 0 end,
        day = greatest(u.day, excluded.day), day_limit = excluded.day_limit,
        day_recipients = excluded.day_recipients + case when u.day >= excluded.day then u.day_recipients else 0 end
    ), sized as (
      insert into content_sizes as c (workspace_id, content, day, bytes)
      select workspace_id, 'emails', (first_at at time zone 'UTC')::date as day, sum(size_bytes) from storable where not free
      group by workspace_id, day order by workspace_id, day
      on conflict (workspace_id, content, day) do update set bytes = c.bytes + excluded.bytes
    )`;
}

/** Counts emails that earlier statements of the transaction stored. */
export async function countStored(
  sql: Sql,
  emails: readonly { workspaceId: string; id: string }[],
  defaults: QuotaDefaults,
): Promise<void> {
  await sql`
    with requested as (
      select e.workspace_id, e.id, e.total, e.size_bytes, e.content_day, true as can_send, false as free
      from unnest(${emails.map((e) => e.workspaceId)}::uuid[], ${emails.map((e) => e.id)}::uuid[]) as k(workspace_id, id)
      cross join lateral (select * from emails where workspace_id = k.workspace_id and id = k.id limit 1) e
    ), storable as (
      select *, content_day::timestamp at time zone 'UTC' as first_at from requested
    ), ${judged(sql, defaults)}, ${counted(sql)}
    select 1`;
}

/** Columns of `judged` j and `share` s for an email that was left out. */
export function refusalColumns(sql: Sql) {
  return sql`j.refusal, s.suspended_reason as "suspendedReason",
    jsonb_build_object('emailsPerHour', s.hour_limit, 'emailsPerDay', s.day_limit, 'storedBytes', s.bytes_limit) as limits,
    (extract(epoch from s.this_hour + interval '1 hour' - s.service_at) * 1000)::float8 as "hourLeftMs",
    (extract(epoch from s.this_day + interval '1 day' - s.service_at) * 1000)::float8 as "dayLeftMs"`;
}

/** Undefined when the email was left out for another reason. */
export function refusalOf({ refusal, suspendedReason, limits, hourLeftMs, dayLeftMs }: Refusal): Problem | undefined {
  if (refusal === null) return undefined;
  if (refusal === "suspended") return workspaceSuspended(suspendedReason ?? "");
  const retryAfterMs = { emailsPerHour: hourLeftMs, emailsPerDay: dayLeftMs }[refusal as string];
  return quotaExceeded(refusal, limits[refusal] ?? 0, retryAfterMs);
}

/** Repeats a write that failed because another one was counted at the same time. The repeat sees that count. */
export async function repeatedOnRace<T>(write: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await write();
    } catch (error) {
      const { constraint } = error as { constraint?: string };
      if (!(constraint === "quota_hour" || constraint === "quota_day") || tries === mostTries) throw error;
    }
  }
}

/** Each repeat means that another statement has used a part of the rest of the quota, so there are few. */
const mostTries = 20;

/** The limit of a workspace's row. Null: unlimited. */
export function limit(sql: Sql, { established, fromSignUp }: QuotaDefaults, kind: QuotaKind) {
  return sql`case when quota ? ${kind}::text then (quota ->> ${kind}::text)::bigint
    when from_sign_up then ${fromSignUp[kind]}::bigint else ${established[kind]}::bigint end`;
}
