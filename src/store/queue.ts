/** The queue as a whole: how much waits, for how long, and for what. */
import type { Sql } from "./db.ts";

export type QueueDepth = {
  due: number;
  later: number;
  leased: number;
  /** Seconds since the oldest waiting recipient became due; 0 while none waits. Paused destinations and sites that are backing off do not count. */
  oldestDueSeconds: number;
  /** The same for recipients at sites that do not answer, from a site's first failure until it answers again. */
  oldestBackingOffSeconds: number;
};

/** Index recipients_due; reads open rows only, grouped by lane so that the joins cost per lane. */
export async function queueDepth(sql: Sql): Promise<QueueDepth> {
  const [row] = await sql<QueueDepth[]>`
    with lane as (
      select destination, workspace_id,
        count(*) filter (where lease is null and due_at <= now()) as due,
        count(*) filter (where lease is null and due_at > now()) as later,
        count(*) filter (where lease is not null) as leased,
        min(due_at) filter (where lease is null and due_at <= now()) as oldest
      from recipients where status in ('queued', 'delayed') group by destination, workspace_id
    )
    select coalesce(sum(due), 0)::int as due, coalesce(sum(later), 0)::int as later, coalesce(sum(leased), 0)::int as leased,
      coalesce(extract(epoch from now() - min(oldest) filter (where p.destination is null and coalesce(s.back_off_until <= now(), true))), 0)::float8 as "oldestDueSeconds",
      coalesce(extract(epoch from now() - min(oldest) filter (where p.destination is null and (s.failures > 0 or s.back_off_until > now()))), 0)::float8 as "oldestBackingOffSeconds"
    from lane l
      left join paused_destinations p on p.workspace_id = l.workspace_id and p.destination = l.destination
      left join destinations d on d.domain = l.destination
      left join sites s on s.site = d.site`;
  return row!;
}
