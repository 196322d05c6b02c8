/** The queue as a whole: how much waits, and for what. */
import type { Sql } from "./db.ts";

export type QueueDepth = { due: number; later: number; leased: number };

/** Index recipients_due; the count is of open rows only. */
export async function queueDepth(sql: Sql): Promise<QueueDepth> {
  const [row] = await sql<QueueDepth[]>`
    select count(*) filter (where lease is null and due_at <= now())::int as due,
      count(*) filter (where lease is null and due_at > now())::int as later,
      count(*) filter (where lease is not null)::int as leased
    from recipients where status in ('queued', 'delayed')`;
  return row!;
}
