/** Webhooks follow the event log: each has a number up to which it has read, and a delivery for every event that its types let through. */
import type { Sql } from "./db.ts";
import { makeUuid } from "./ids.ts";

/** `behind`: there is more than was read; ask again at once. */
export type Followed = { read: number; added: number; behind: boolean };

/**
 * New deliveries and the place up to where each webhook has read, in one statement: after a crash neither is there without the
 * other. Several nodes share the work: a webhook that another one serves at this moment is passed over. Event numbers are given in
 * commit order, so who sees one sees all before it. Webhooks by scan (they are few), events by primary key in the partitions since.
 */
export async function followLog(
  sql: Sql,
  limits: { nowMs: number; webhooks: number; events: number },
): Promise<Followed> {
  const [row] = await sql<Followed[]>`
    with picked as materialized (
      select w.workspace_id, w.id, w.event_types, w.followed, w.followed_at from webhooks w join event_counters c using (workspace_id)
      where w.disabled_at is null and greatest(w.followed, c.oldest - 1) < c.last
      order by w.followed_at limit ${limits.webhooks} for update of w skip locked
    ), news as materialized (
      select p.workspace_id, p.id as webhook_id, p.event_types, e.* from picked p, lateral (
        select number, id as event_id, type, email_id, created_at from events
        where workspace_id = p.workspace_id and number > p.followed and created_at >= p.followed_at - interval '1 day'
        order by number limit ${limits.events}) e
    ), moved as (
      update webhooks w set followed = n.number, followed_at = n.created_at
      from (select distinct on (workspace_id, webhook_id) workspace_id, webhook_id, number, created_at from news
        order by workspace_id, webhook_id, number desc) n
      where w.workspace_id = n.workspace_id and w.id = n.webhook_id
    ), added as (
      insert into webhook_deliveries (workspace_id, webhook_id, id, event_number, event_id, event_type, event_at, email_id)
      select workspace_id, webhook_id, ${countedId(sql, limits.nowMs, sql`row_number() over (order by number, webhook_id)`)},
        number, event_id, type, created_at, email_id
      from news where event_types = '{}' or type = any(event_types)
      returning 1
    )
    select (select count(*)::int from news) as read, (select count(*)::int from added) as added,
      (select count(*) from picked) = ${limits.webhooks}
        or exists (select 1 from news group by webhook_id having count(*) = ${limits.events}) as behind`;
  return row!;
}

/** Ids for the rows of one statement, in their order: one UUIDv7 whose last 32 bits count (RFC 9562 §6.2). */
export function countedId(sql: Sql, nowMs: number, position: ReturnType<Sql>) {
  return sql`(${makeUuid(nowMs).slice(0, 28)}::text || lpad(to_hex(${position}), 8, '0'))::uuid`;
}
