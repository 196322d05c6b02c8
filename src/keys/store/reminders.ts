/** Reminders before keys expire: an event and a mail to the owners, in one statement with the mark that they were made. Called by
 * ../reminders.ts. */
import type { Sql } from "../../postgres/pool.ts";
import { type Notice, noticed } from "../../quotas/store/notices.ts";

export type ExpiringKey = {
  id: string;
  workspaceId: string;
  workspace: string;
  name: string;
  prefix: string;
  expiresAt: Date;
  lastUsedAt: Date | null;
  /** The reminder that is due: 7 or 1 days before the expiry. */
  days: number;
};

/** Keys whose reminder is due (index keys_expiring). A key expires when the first of both clocks reaches its expiry. */
export async function findExpiring(sql: Sql, limit: number): Promise<ExpiringKey[]> {
  return await sql<ExpiringKey[]>`
    select k.id, k.workspace_id as "workspaceId", w.name as workspace, k.name, k.prefix, k.expires_at as "expiresAt",
      k.last_used_at as "lastUsedAt", due.days
    from keys k join workspaces w on w.id = k.workspace_id,
      lateral (select least(k.expires_at - wall_time(), k.service_expires_at - (select service_time())) as left_over) l,
      lateral (select case when l.left_over <= interval '1 day' then 1 else 7 end as days) due
    where k.expires_at is not null and k.revoked_at is null and k.expires_at > (select wall_time())
      and l.left_over > interval '0' and l.left_over <= interval '7 days' and coalesce(k.reminded_days, 8) > due.days
    order by k.expires_at limit ${limit}`;
}

/** False: another node has made this reminder, or the key was revoked or got another expiry meanwhile. */
export async function noteExpiring(sql: Sql, key: ExpiringKey, notice: Notice): Promise<boolean> {
  const rows = await sql<object[]>`
    with marked as (
      update keys set reminded_days = ${key.days} where id = ${key.id} and revoked_at is null
        and date_trunc('milliseconds', expires_at) = ${key.expiresAt} and coalesce(reminded_days, 8) > ${key.days} returning 1
    ), ${noticed(sql, notice, sql`exists (select 1 from marked)`)}
    select 1 from event`;
  return rows.length > 0;
}
