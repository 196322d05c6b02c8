/** Records what the dot journal of a crashed process says about its leases. Called by doubts.ts. */
import type { Sql } from "../../postgres/pool.ts";
import { liveWorkers } from "../../postgres/workers.ts";
import type { Dot } from "../journal.ts";

/** Those of the workers that count as alive. */
export async function findLive(sql: Sql, workers: readonly number[]): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    with live as materialized (${liveWorkers(sql)})
    select w.id::int from unnest(${workers}::bigint[]) as w(id) cross join live where w.id = any (live.ids)`;
  return rows.map(({ id }) => id);
}

/**
 * For the workers that are dead: puts the recipients of the dots in doubt and delays them, and records that their other leases are not in
 * doubt. Returns the workers that still count as alive. All in one statement, so that no lease comes between. Index: primary keys.
 */
export async function markDots(
  sql: Sql,
  journal: { workers: readonly number[]; dots: readonly Dot[]; scheduleMs: readonly number[] },
): Promise<number[]> {
  const { workers, dots, scheduleMs } = journal;
  const rows = await sql<{ id: number }[]>`
    with live as materialized (${liveWorkers(sql)}), journaled as materialized (
      select w.id, w.id = any (live.ids) as alive from unnest(${workers}::bigint[]) as w(id) cross join live
    ), recorded as (
      insert into read_journals (worker_id, read_at) select id, (select service_time()) from journaled where not alive on conflict do nothing
    ), dot as materialized (
      select distinct d.* from unnest(${dots.map((d) => d.lease)}::bigint[], ${dots.map((d) => d.workspaceId)}::uuid[],
        ${dots.map((d) => d.emailId)}::uuid[], ${dots.map((d) => d.position)}::smallint[]) as d(lease, workspace_id, email_id, position)
      where d.lease >> 32 in (select id from journaled where not alive)
    ), held as materialized (
      select d.* from (select * from dot order by email_id, position offset 0) d cross join lateral (
        select 1 from recipients r where r.workspace_id = d.workspace_id and r.email_id = d.email_id and r.position = d.position
          and r.lease = d.lease and r.status || '' in ('queued', 'delayed') limit 1 for update) r
    ), marked as (
      update recipients r set lease = null, in_doubt = true, doubts = r.doubts + 1,
        due_at = (select service_time()) + (${scheduleMs}::float8[])[least(r.doubts + 1, ${scheduleMs.length}::int)] * interval '1 millisecond'
      from held h where r.workspace_id = h.workspace_id and r.email_id = h.email_id and r.position = h.position
    )
    select id::int from journaled where alive`;
  return rows.map(({ id }) => id);
}

/** For a worker id that took leases and did nothing under those that remain. */
export async function recordWithoutDoubt(sql: Sql, workerId: number): Promise<void> {
  await sql`insert into read_journals (worker_id, read_at) values (${workerId}, service_time()) on conflict do nothing`;
}

/** Housekeeping: a lease of a worker that died longer ago counts as in doubt again. */
export async function forgetReadJournals(sql: Sql): Promise<void> {
  await sql`delete from read_journals where read_at < (select service_time()) - interval '30 days'`;
}
