/** Reads what workspaces use of their quotas, and adds to counted things only within the quota. Called by ../quotas.ts, WorkspaceService
 * and the commands. */
import { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import { serviceTime } from "../../postgres/service-clock.ts";
import type { Warning } from "../rules/brake.ts";
import { limitsOf, type QuotaDefaults, type QuotaKind, type QuotaRow, quotaExceeded } from "../rules/limits.ts";
import { limit, type MailKind } from "./sending.ts";

/** Kinds that are counted when one more is added. */
export type AddedKind = Extract<QuotaKind, "domains" | "keys" | "webhooks" | "members">;

export type WorkspaceUsage = QuotaRow & {
  id: string;
  name: string;
  used: Record<QuotaKind, number>;
  serviceMs: number;
  /** Wall time minus service time, to show the end of a window. */
  lagMs: number;
  suspendedAt: Date | null;
  suspendedReason: string | null;
  /** The workspace is being deleted since then. */
  deletingAt: Date | null;
  warning: Warning | null;
};

/** Without the system workspace, so that commands cannot find it. Primary keys, and the indexes by workspace of the four counted tables: the
 * cost grows with what the quota limits, not with mail. */
export async function readUsage(sql: Sql, workspaceIds: readonly string[]): Promise<WorkspaceUsage[]> {
  type UsageRow = Omit<WorkspaceUsage, "used"> & Record<QuotaKind, number>;
  const rows = await sql<UsageRow[]>`
    select w.id, w.name, w.quota, w.from_sign_up as "fromSignUp", w.suspended_at as "suspendedAt", w.suspended_reason as "suspendedReason",
      w.deleting_at as "deletingAt",
      (extract(epoch from t.service_at) * 1000)::float8 as "serviceMs", t.lag_ms as "lagMs", b.warning,
      u.hour_used::float8 as "emailsPerHour", u.day_used::float8 as "emailsPerDay", u.stored_bytes::float8 as "storedBytes",
      u.inbound_used::float8 as "inboundPerHour",
      ${countOf(sql, "domains", sql`w.id`)} as domains, ${countOf(sql, "keys", sql`w.id`)} as keys,
      ${countOf(sql, "webhooks", sql`w.id`)} as webhooks, ${countOf(sql, "members", sql`w.id`)} as members,
      (select coalesce(sum((c.counts ->> w.id::text)::int), 0)::int from stream_counts c
        where c.seen_at > t.service_at - ${streamsSeenMs} * interval '1 millisecond') as streams
    from unnest(${workspaceIds as string[]}::uuid[]) as k(id) join workspaces w on w.id = k.id and w.kind = 'customer'
    cross join (select ${serviceTime(sql)} as service_at, (extract(epoch from wall_at - service_at) * 1000)::float8 as lag_ms from service_clock) t
    cross join lateral (${sums(sql)} where workspace_id = w.id) u
    left join sending_records b on b.workspace_id = w.id
    order by w.id`;
  return rows.map(
    ({
      emailsPerHour,
      emailsPerDay,
      storedBytes,
      inboundPerHour,
      domains,
      keys,
      webhooks,
      members,
      streams,
      ...rest
    }) => ({
      ...rest,
      used: { emailsPerHour, emailsPerDay, storedBytes, inboundPerHour, domains, keys, webhooks, members, streams },
    }),
  );
}

/** The sums over the slots of a workspace, in the windows of `t.service_at`. */
function sums(sql: Sql) {
  return sql`select coalesce(sum(hour_recipients) filter (where hour >= date_bin('1 hour', t.service_at, 'epoch')), 0) as hour_used,
      coalesce(sum(day_recipients) filter (where day >= date_bin('1 day', t.service_at, 'epoch')), 0) as day_used,
      coalesce(sum(inbound_messages) filter (where inbound_hour >= date_bin('1 hour', t.service_at, 'epoch')), 0) as inbound_used,
      coalesce(sum(stored_bytes), 0) as stored_bytes
    from workspace_usage`;
}

/** Counts of streams that a node has not renewed within this time do not count. */
const streamsSeenMs = 20_000;

function countOf(sql: Sql, kind: AddedKind, workspaceId: ReturnType<Sql>) {
  const counts = {
    domains: sql`(select count(*)::int from domains where workspace_id = ${workspaceId} and deleted_at is null)`,
    keys: sql`(select count(*)::int from keys where workspace_id = ${workspaceId} and revoked_at is null
      and (expires_at is null or expires_at > wall_time()))`,
    webhooks: sql`(select count(*)::int from webhooks where workspace_id = ${workspaceId})`,
    members: sql`(select count(*)::int from members where workspace_id = ${workspaceId})`,
  };
  return counts[kind];
}

/** Throws unless the quota allows one more. In a transaction, locks the workspace's row, so that concurrent calls cannot exceed
 * the limit together. */
export async function requireRoom(
  sql: Sql,
  {
    workspaceId,
    kind,
    defaults,
    lock,
  }: { workspaceId: string; kind: AddedKind; defaults: QuotaDefaults; lock: boolean },
): Promise<void> {
  const [row] = await sql<QuotaRow[]>`
    select quota, from_sign_up as "fromSignUp" from workspaces where id = ${workspaceId} and deleting_at is null
    ${lock ? sql`for no key update` : sql``}`;
  if (!row) throw new Problem("not_found", "This workspace does not exist any longer.");
  const most = limitsOf(row, defaults)[kind];
  if (most === null) return;
  const [count] = await sql<{ used: number }[]>`select ${countOf(sql, kind, sql`${workspaceId}`)} as used`;
  if (count!.used >= most) throw quotaExceeded(kind, most);
}

export async function readLimits(sql: Sql, workspaceId: string): Promise<QuotaRow | undefined> {
  const [row] = await sql<QuotaRow[]>`
    select quota, from_sign_up as "fromSignUp" from workspaces where id = ${workspaceId}`;
  return row;
}

/** Workspaces that use at least 80 % of a quota that mail counts towards. Reads workspace_usage, which has few rows for each workspace. */
export async function findNearLimits(sql: Sql, defaults: QuotaDefaults): Promise<string[]> {
  const near = (kind: MailKind, used: ReturnType<Sql>) =>
    sql`(${used} > 0 and ${used} * 100 >= 80 * (${limit(sql, defaults, kind)}))`;
  const rows = await sql<{ id: string }[]>`
    select w.id from (select workspace_id, sums.* from (select distinct workspace_id from workspace_usage) k
      cross join (select ${serviceTime(sql)} as service_at) t cross join lateral (${sums(sql)} where workspace_id = k.workspace_id) sums) u
    join workspaces w on w.id = u.workspace_id
    where ${near("emailsPerHour", sql`u.hour_used`)} or ${near("emailsPerDay", sql`u.day_used`)}
      or ${near("inboundPerHour", sql`u.inbound_used`)} or ${near("storedBytes", sql`u.stored_bytes`)}
    order by w.id limit 1000`;
  return rows.map(({ id }) => id);
}

/** Stores this node's open streams, and returns those of the other nodes by workspace. */
export async function shareStreams(
  sql: Sql,
  node: string,
  counts: Record<string, number>,
): Promise<Map<string, number>> {
  const rows = await sql<{ workspaceId: string; streams: number }[]>`
    with own as (
      insert into stream_counts (node, counts, seen_at) values (${node}, ${JSON.stringify(counts)}::text::jsonb, service_time())
      on conflict (node) do update set counts = excluded.counts, seen_at = excluded.seen_at
    ), gone as (
      delete from stream_counts where seen_at < service_time() - interval '1 hour'
    )
    select x.key as "workspaceId", sum(x.value::int)::int as streams from stream_counts c, jsonb_each_text(c.counts) x
    where c.node <> ${node} and c.seen_at > service_time() - ${streamsSeenMs} * interval '1 millisecond' group by x.key`;
  return new Map(rows.map(({ workspaceId, streams }) => [workspaceId, streams]));
}

export async function forgetStreams(sql: Sql, node: string): Promise<void> {
  await sql`delete from stream_counts where node = ${node}`;
}
