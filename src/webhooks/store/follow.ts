/** Turns events into deliveries: each webhook has the number of the last event that it has read, and gets a delivery for every later event
 * of its types. Called by ../follow.ts. */

import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { constant } from "../../postgres/sql.ts";

/** `behind`: there may be more events than one call reads, so call again. */
export type Followed = { read: number; added: number; behind: boolean };

/**
 * Adds deliveries and moves each webhook's position in the log in one statement, so that a crash cannot separate them. Several nodes share
 * the work: a statement skips webhooks that another node has locked. Event numbers are in commit order, so a statement that sees one sees
 * all before it. The position is the number alone: event times may go back when the database's clock is set. `followed_at` is the service time
 * of the last read, so that webhooks take turns. Webhooks by scan (they are few), events by primary key.
 */
export async function followLog(
  sql: Sql,
  limits: { nowMs: number; webhooks: number; events: number },
): Promise<Followed> {
  const [row] = await sql<Followed[]>`
    with picked as materialized (
      select w.workspace_id, w.id, w.event_types, w.followed from webhooks w join event_counters c using (workspace_id)
      where w.disabled_at is null and greatest(w.followed, c.oldest - 1) < c.last
      order by w.followed_at limit ${constant(sql, limits.webhooks)} for update of w skip locked
    ), new_events as materialized (
      select p.workspace_id, p.id as webhook_id, p.event_types, e.* from picked p, lateral (
        select number, id as event_id, type, email_id, created_at from events
        where workspace_id = p.workspace_id and number > p.followed
        order by number limit ${constant(sql, limits.events)}) e
    ), moved as (
      update webhooks w set followed = n.number, followed_at = (select service_time())
      from (select workspace_id, webhook_id, max(number) as number from new_events group by workspace_id, webhook_id) n
      where w.workspace_id = n.workspace_id and w.id = n.webhook_id
    ), added as (
      insert into webhook_deliveries (workspace_id, webhook_id, id, event_number, event_id, event_type, event_at, email_id, due_at)
      select workspace_id, webhook_id, ${countedId(sql, limits.nowMs, sql`row_number() over (order by number, webhook_id)`)},
        number, event_id, type, created_at, email_id, (select service_time())
      from new_events where event_types = '{}' or type = any(event_types)
      returning 1
    )
    select (select count(*)::int from new_events) as read, (select count(*)::int from added) as added,
      (select count(*) from picked) = ${limits.webhooks}
        or exists (select 1 from new_events group by webhook_id having count(*) = ${limits.events}) as behind`;
  return row!;
}

/** Ordered ids for the rows of one statement: a UUIDv7 whose last 32 bits are a counter (RFC 9562 §6.2). */
export function countedId(sql: Sql, nowMs: number, position: ReturnType<Sql>) {
  return sql`(${makeUuid(nowMs).slice(0, 28)}::text || lpad(to_hex(${position}), 8, '0'))::uuid`;
}
