/** The quotas of inbound mail: a part of the statement that stores it (inbound/store/inbound.ts), and the check at RCPT. */
import type { Sql } from "../../postgres/pool.ts";
import { serviceTime } from "../../postgres/service-clock.ts";
import type { QuotaDefaults, QuotaKind } from "../rules/limits.ts";
import { limit } from "./sending.ts";

/** CTEs that count the messages of the CTE `unseen`, in the transaction that stores them. Simulated messages take space, but must not keep
 * real ones out. */
export function countedInbound(sql: Sql, { simulated } = { simulated: false }) {
  return sql`
    counted as (
      insert into workspace_usage as u (workspace_id, inbound_hour, inbound_messages, stored_bytes)
      select workspace_id, date_bin('1 hour', (select service_time()), 'epoch'), ${simulated ? sql`0` : sql`count(*)`}, sum(size_bytes) from unseen
      group by workspace_id order by workspace_id
      on conflict (workspace_id, slot) do update set stored_bytes = u.stored_bytes + excluded.stored_bytes,
        inbound_hour = greatest(u.inbound_hour, excluded.inbound_hour),
        inbound_messages = excluded.inbound_messages + case when u.inbound_hour >= excluded.inbound_hour then u.inbound_messages else 0 end
    ), sized as (
      insert into content_sizes as c (workspace_id, content, day, bytes)
      select workspace_id, 'inbound', (${timeOf(sql)} at time zone 'UTC')::date as day, sum(size_bytes) from unseen
      group by workspace_id, day order by workspace_id, day
      on conflict (workspace_id, content, day, slot) do update set bytes = c.bytes + excluded.bytes
    )`;
}

/** The time in a UUIDv7, by which inbound content is partitioned. */
function timeOf(sql: Sql) {
  return sql`to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0)`;
}

/** The quota that keeps the workspace from getting another inbound message now. Primary keys. */
export async function findFullInboundQuota(
  sql: Sql,
  workspaceId: string,
  defaults: QuotaDefaults,
): Promise<InboundKind | undefined> {
  const [row] = await sql<{ full: InboundKind | null }[]>`
    select case when u.messages >= w.most then 'inboundPerHour' when u.bytes >= w.bytes then 'storedBytes' end as full
    from (select ${limit(sql, defaults, "inboundPerHour")} as most, ${limit(sql, defaults, "storedBytes")} as bytes
      from workspaces where id = ${workspaceId}) w
    cross join (select coalesce(sum(stored_bytes), 0) as bytes,
        coalesce(sum(inbound_messages) filter (where inbound_hour >= date_bin('1 hour', ${serviceTime(sql)}, 'epoch')), 0) as messages
      from workspace_usage where workspace_id = ${workspaceId}) u`;
  return row?.full ?? undefined;
}

/** Kinds that inbound mail counts towards. */
export type InboundKind = Extract<QuotaKind, "inboundPerHour" | "storedBytes">;
