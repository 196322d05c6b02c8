/** Parts of the statement that stores new emails (emails/store/emails.ts): they decide what each workspace may send, and count it in the
 * same transaction. They read the CTE `requested`, one row for each email with the recipients and bytes of its workspace up to it, and the
 * CTE `storable`, which has first_at as well. bench/send: the parts are written for few rows and plain joins, since each costs CPU time. */
import type { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import { serviceTime } from "../../postgres/service-clock.ts";
import { type QuotaDefaults, type QuotaKind, quotaExceeded, workspaceSuspended } from "../rules/limits.ts";

/** Why an email was not stored. The columns of `refusalColumns`. */
export type QuotaRefusal = {
  refusal: QuotaKind | "suspended" | null;
  suspendedReason: string | null;
  limits: Partial<Record<QuotaKind, number>>;
  /** What was left before the statement. Null: unlimited. */
  rest: { recipients: number | null; bytes: number | null };
  hourLeftMs: number;
  dayLeftMs: number;
};

/** CTEs `share`, one row for each workspace, and `refused`, the emails that it must not send, nearly always none. Emails are allowed in
 * their order until the rest of a quota is used up. A workspace that only has a limit of stored bytes is counted exactly, in one row, from
 * 4 GiB below that limit on: statements that run at the same time store far less. Primary keys of workspaces and workspace_usage, row by
 * row: a join would read both tables. */
export function refused(sql: Sql, defaults: QuotaDefaults, slot = 0) {
  return sql`
    share as materialized (
      select r.workspace_id, w.*, t.*, u.*, case when w.hour_limit is null and w.day_limit is null
          and (w.bytes_limit is null or u.stored_bytes < w.bytes_limit - 4294967296) then ${slot}::smallint else 0 end as slot
      from (select distinct workspace_id from requested) r
      cross join (select service_at, date_bin('1 hour', service_at, 'epoch') as this_hour, date_bin('1 day', service_at, 'epoch') as this_day
        from (select ${serviceTime(sql)} as service_at offset 0) s) t
      cross join lateral (select suspended_at is not null as suspended, suspended_reason,
          ${limit(sql, defaults, "emailsPerHour")} as hour_limit, ${limit(sql, defaults, "emailsPerDay")} as day_limit,
          ${limit(sql, defaults, "storedBytes")} as bytes_limit
        from workspaces where id = r.workspace_id limit 1) w
      cross join lateral (select coalesce(sum(hour_recipients) filter (where hour >= t.this_hour), 0)::bigint as hour_used,
          coalesce(sum(hour_recipients) filter (where hour >= t.this_hour and slot <> 0), 0)::bigint as hour_elsewhere,
          coalesce(sum(day_recipients) filter (where day >= t.this_day), 0)::bigint as day_used,
          coalesce(sum(day_recipients) filter (where day >= t.this_day and slot <> 0), 0)::bigint as day_elsewhere,
          coalesce(sum(stored_bytes), 0)::bigint as stored_bytes,
          coalesce(sum(stored_bytes) filter (where slot <> 0), 0)::bigint as bytes_elsewhere
        from workspace_usage where workspace_id = r.workspace_id) u
    ), refused as materialized (
      select r.id, case when s.suspended then 'suspended' when r.total_so_far > s.hour_limit - s.hour_used then 'emailsPerHour'
        when r.total_so_far > s.day_limit - s.day_used then 'emailsPerDay' else 'storedBytes' end as refusal
      from requested r join share s using (workspace_id)
      where not r.free and (s.suspended or r.total_so_far > s.hour_limit - s.hour_used or r.total_so_far > s.day_limit - s.day_used
        or r.bytes_so_far > s.bytes_limit - s.stored_bytes)
    )`;
}

/** The slot of the next statement. Statements that run at the same time should have different ones. */
export function createUsageSlots(): () => number {
  let last = Math.floor(Math.random() * slots);
  return () => {
    last = (last % slots) + 1;
    return last;
  };
}

const slots = 16;

/** CTEs that count the stored emails. They lock the rows of the workspaces, in the order of their ids, until the commit, so they belong
 * in the last statement of a transaction. Service time may fall back by seconds, so a window never goes back. Bytes over the limit set a
 * limit of -1, so that quota_hour fails: a constraint of their own would fail for inbound mail, which may exceed it. */
export function counted(sql: Sql) {
  return sql`
    counted as (
      insert into workspace_usage as u (workspace_id, slot, hour, hour_recipients, hour_limit, day, day_recipients, day_limit, stored_bytes)
      select s.workspace_id, s.slot, s.this_hour, m.total, s.hour_limit - s.hour_elsewhere, s.this_day, m.total, s.day_limit - s.day_elsewhere, m.bytes
      from (select workspace_id, sum(total) as total, sum(size_bytes) as bytes from storable where not free group by workspace_id) m
      join share s using (workspace_id) order by s.workspace_id
      on conflict (workspace_id, slot) do update set stored_bytes = u.stored_bytes + excluded.stored_bytes,
        hour = greatest(u.hour, excluded.hour), hour_limit = case when u.stored_bytes + excluded.stored_bytes > (
            select s.bytes_limit - s.bytes_elsewhere from share s where s.workspace_id = excluded.workspace_id and s.slot = 0)
          then -1 else excluded.hour_limit end,
        hour_recipients = excluded.hour_recipients + case when u.hour >= excluded.hour then u.hour_recipients else 0 end,
        day = greatest(u.day, excluded.day), day_limit = excluded.day_limit,
        day_recipients = excluded.day_recipients + case when u.day >= excluded.day then u.day_recipients else 0 end
    ), sized as (
      insert into content_sizes as c (workspace_id, content, day, slot, bytes)
      select m.workspace_id, 'emails', m.day, s.slot, m.bytes from (
        select workspace_id, (first_at at time zone 'UTC')::date as day, sum(size_bytes) as bytes from storable where not free group by workspace_id, day) m
      join share s using (workspace_id) order by m.workspace_id, m.day
      on conflict (workspace_id, content, day, slot) do update set bytes = c.bytes + excluded.bytes
    )`;
}

/** The recipients and bytes of each email's workspace up to and with this email, as `refused` needs them. Mail of Posthorn itself does not
 * count. */
export function sumsSoFar(
  emails: readonly { workspaceId: string; total: number; sizeBytes: number; free: boolean }[],
): { total_so_far: number; bytes_so_far: number }[] {
  const sums = new Map<string, { total: number; bytes: number }>();
  return emails.map(({ workspaceId, total, sizeBytes, free }) => {
    const sum = sums.get(workspaceId) ?? { total: 0, bytes: 0 };
    sums.set(workspaceId, sum);
    if (!free) sum.total += total;
    if (!free) sum.bytes += sizeBytes;
    return { total_so_far: sum.total, bytes_so_far: sum.bytes };
  });
}

/** Counts emails that earlier statements of the transaction stored. */
export async function countStored(
  sql: Sql,
  emails: readonly { workspaceId: string; id: string }[],
  defaults: QuotaDefaults,
): Promise<void> {
  await sql`
    with requested as (
      select e.workspace_id, e.id, e.total, e.size_bytes, e.content_day, true as can_send, false as free, e.total as total_so_far, e.size_bytes as bytes_so_far
      from unnest(${emails.map((e) => e.workspaceId)}::uuid[], ${emails.map((e) => e.id)}::uuid[]) as k(workspace_id, id)
      cross join lateral (select * from emails where workspace_id = k.workspace_id and id = k.id limit 1) e
    ), storable as (
      select *, content_day::timestamp at time zone 'UTC' as first_at from requested
    ), ${refused(sql, defaults)}, ${counted(sql)}
    select 1`;
}

/** Columns for an email r of `requested` that was left out. */
export function refusalColumns(sql: Sql) {
  return sql`(select f.refusal from refused f where f.id = r.id) as refusal, s.suspended_reason as "suspendedReason",
    jsonb_build_object('emailsPerHour', s.hour_limit, 'emailsPerDay', s.day_limit, 'storedBytes', s.bytes_limit) as limits,
    jsonb_build_object('recipients', least(s.hour_limit - s.hour_used, s.day_limit - s.day_used), 'bytes', s.bytes_limit - s.stored_bytes) as rest,
    (extract(epoch from s.this_hour + interval '1 hour' - s.service_at) * 1000)::float8 as "hourLeftMs",
    (extract(epoch from s.this_day + interval '1 day' - s.service_at) * 1000)::float8 as "dayLeftMs"`;
}

/** Undefined when the email was left out for another reason. */
export function quotaProblem({
  refusal,
  suspendedReason,
  limits,
  hourLeftMs,
  dayLeftMs,
}: QuotaRefusal): Problem | undefined {
  if (refusal === null) return undefined;
  if (refusal === "suspended") return workspaceSuspended(suspendedReason ?? "");
  const retryAfterMs = { emailsPerHour: hourLeftMs, emailsPerDay: dayLeftMs }[refusal as string];
  return quotaExceeded(refusal, limits[refusal] ?? 0, retryAfterMs);
}

type Counted = { id: string; workspaceId: string; total: number; sizeBytes: number; free: boolean };
type NotStored = QuotaRefusal & { id: string; canSend: boolean | null };

/** The ids of refused emails that still fit, in the order of the statement: it also counted emails before them that it did not store. None
 * when the quota is used up, so that a caller who repeats refused calls costs no second statement. */
export function fittingRest(emails: readonly Counted[], leftOut: readonly NotStored[]): Set<string> {
  const fitting = new Set<string>();
  const leftById = new Map(leftOut.map((one) => [one.id, one]));
  const isRefused = ({ id }: Counted) => {
    const left = leftById.get(id);
    return left?.canSend === true && left.refusal !== null && left.refusal !== "suspended";
  };
  const refusedOf = new Map(emails.filter(isRefused).map(({ id, workspaceId }) => [workspaceId, id]));
  for (const [workspaceId, id] of refusedOf) {
    const own = emails.filter((email) => email.workspaceId === workspaceId && !email.free);
    const { rest } = leftById.get(id)!;
    let recipients = rest.recipients ?? Infinity;
    let bytes = rest.bytes ?? Infinity;
    for (const email of [...own.filter((one) => !leftById.has(one.id)), ...own.filter(isRefused)]) {
      if (email.total > recipients || email.sizeBytes > bytes) continue;
      recipients -= email.total;
      bytes -= email.sizeBytes;
      if (leftById.has(email.id)) fitting.add(email.id);
    }
  }
  return fitting;
}

/** Repeats a write that failed because another one was counted at the same time. The repeat sees that count. Also repeats one that
 * PostgreSQL ended to resolve a deadlock. */
export async function repeatedOnRace<T>(write: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await write();
    } catch (error) {
      const { code, constraint } = error as { code?: string; constraint?: string };
      const isRace = code === deadlock || constraint === "quota_hour" || constraint === "quota_day";
      if (!isRace || tries === mostTries) throw error;
    }
  }
}

const deadlock = "40P01";

/** Each repeat means that another statement has used a part of the rest of the quota, so there are few. */
const mostTries = 20;

/** The limit of a workspace's row. Null: unlimited. The names are literals, because each parameter of a frequent statement costs time. */
export function limit(sql: Sql, { established, fromSignUp }: QuotaDefaults, kind: MailKind) {
  const own = {
    emailsPerHour: sql`when quota ? 'emailsPerHour' then (quota ->> 'emailsPerHour')::bigint`,
    emailsPerDay: sql`when quota ? 'emailsPerDay' then (quota ->> 'emailsPerDay')::bigint`,
    storedBytes: sql`when quota ? 'storedBytes' then (quota ->> 'storedBytes')::bigint`,
    inboundPerHour: sql`when quota ? 'inboundPerHour' then (quota ->> 'inboundPerHour')::bigint`,
  }[kind];
  return sql`case ${own} when from_sign_up then ${fromSignUp[kind]}::bigint else ${established[kind]}::bigint end`;
}

/** Kinds that mail counts towards. */
export type MailKind = Extract<QuotaKind, "emailsPerHour" | "emailsPerDay" | "storedBytes" | "inboundPerHour">;
