/** SQL of the queue by destination, for QueueService. Also the depth of the whole queue, for metrics. */
import { countColumns, countMoves } from "../emails/store/outcomes.ts";
import type { Sql } from "../postgres/pool.ts";
import { shownTime } from "../postgres/service-clock.ts";
import { liveWorkers } from "../postgres/workers.ts";

export type DestinationRow = {
  destination: string;
  site: string | null;
  state: "active" | "backing_off" | "paused";
  queued: number;
  inFlight: number;
  /** Of `queued`: the email is scheduled for later. */
  scheduled: number;
  /** Of `queued`: there was an attempt. */
  delayed: number;
  /** The id of the oldest waiting email that is not scheduled for later; it contains the time the email was accepted. */
  oldestId: string | null;
  nextAttemptAt: Date | null;
  lastReply: string | null;
  lastReplyAt: Date | null;
  failures: number;
  stalledSince: Date | null;
};

export type DestinationFilter = {
  workspaceId: string;
  search: string | undefined;
  /** The last row of the previous page. */
  after: { recipients: number; destination: string } | undefined;
  limit: number;
};

/** Destinations with the most recipients first; paused ones are listed even without mail. Reads the workspace's open recipients. */
export async function listDestinations(sql: Sql, filter: DestinationFilter): Promise<DestinationRow[]> {
  const like = filter.search && `%${filter.search.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
  const { workspaceId, after } = filter;
  return await sql<DestinationRow[]>`
    with live as materialized (${liveWorkers(sql)}), lane as (
      select r.destination, count(*) filter (where r.lease is null or r.lease >> 32 <> all (live.ids))::int as queued,
        count(*) filter (where r.lease >> 32 = any (live.ids))::int as in_flight,
        count(*) filter (where r.status = 'queued' and not r.in_doubt)::int as untried,
        -- An attempt in doubt is retried later without a change of status.
        count(*) filter (where (r.status = 'delayed' or r.in_doubt) and (r.lease is null or r.lease >> 32 <> all (live.ids)))::int as delayed,
        count(*) filter (where r.status = 'queued' and not r.in_doubt and r.lease is null and r.due_at > (select service_time()))::int as later,
        min(r.email_id::text) filter (where r.lease is null and (r.status = 'delayed' or r.in_doubt or r.due_at <= (select service_time()))) as oldest_id,
        min(r.due_at) filter (where r.lease is null) as due_at
      from recipients r cross join live where r.workspace_id = ${workspaceId} and r.status in ('queued', 'delayed')
      ${like ? sql`and r.destination like ${like}` : sql``}
      group by r.destination
    ), shown as (
      select coalesce(l.destination, p.destination) as destination, coalesce(l.queued, 0) as queued, coalesce(l.in_flight, 0) as in_flight,
        coalesce(l.untried, 0) as untried, coalesce(l.delayed, 0) as delayed, coalesce(l.later, 0) as later, l.oldest_id, l.due_at, p.destination is not null as paused
      from lane l full join (select destination from paused_destinations where workspace_id = ${workspaceId}
        ${like ? sql`and destination like ${like}` : sql``}) p on p.destination = l.destination
    ), page as (
      select * from shown
      ${after ? sql`where queued + in_flight < ${after.recipients} or (queued + in_flight = ${after.recipients} and destination > ${after.destination})` : sql``}
      order by queued + in_flight desc, destination limit ${filter.limit}
    )
    select p.destination, d.site, p.queued, p.in_flight as "inFlight", p.delayed, p.later as scheduled, p.oldest_id as "oldestId",
      case when p.queued > 0 then ${shownTime(sql, sql`greatest(p.due_at, s.back_off_until)`)} end as "nextAttemptAt",
      case when p.paused then 'paused' when s.back_off_until > (select service_time()) then 'backing_off'
        when p.delayed > 0 and p.untried = p.later and p.in_flight = 0 and p.due_at > (select service_time()) then 'backing_off' else 'active' end as state,
      last.reply as "lastReply", last.last_attempt_at as "lastReplyAt", coalesce(s.failures, 0) as failures, s.stalled_at as "stalledSince"
    from page p left join destinations d on d.domain = p.destination left join sites s on s.site = d.site
    left join lateral (
      select r.reply, r.last_attempt_at from recipients r where r.destination = p.destination and r.workspace_id = ${workspaceId}
        and r.status in ('queued', 'delayed') and r.last_attempt_at is not null order by r.last_attempt_at desc limit 1) last on true
    order by p.queued + p.in_flight desc, p.destination`;
}

/** Makes up to `limit` deferred recipients due now; call it until it returns 0. Emails scheduled for later are left alone. */
export async function makeSomeDue(
  sql: Sql,
  at: { workspaceId: string; destination: string; limit: number },
): Promise<number> {
  const { workspaceId, destination } = at;
  const rows = await sql.write`
    with found as materialized (
      select r.email_id, r.position from recipients r
      where r.destination = ${destination} and r.workspace_id = ${workspaceId} and r.status in ('queued', 'delayed')
        and r.due_at > (select service_time()) and r.lease is null
        and not exists (select 1 from emails e where e.workspace_id = r.workspace_id and e.id = r.email_id and e.scheduled_at > wall_time())
      order by r.due_at limit ${at.limit}
    ), waiting as materialized (
      -- First found, then locked one by one: see delivery/store/settle.ts.
      select f.* from found f cross join lateral (
        select 1 from recipients where workspace_id = ${workspaceId} and email_id = f.email_id and position = f.position
          and lease is null and status || '' in ('queued', 'delayed') limit 1 for update skip locked) r
    )
    update recipients r set due_at = (select service_time()) from waiting w
    where r.workspace_id = ${workspaceId} and r.email_id = w.email_id and r.position = w.position returning 1`;
  return rows.length;
}

/** Ends the back-off of the destination's site, so that it is probed now. Returns how many recipients wait, and how many are due. */
export async function probeDestination(
  sql: Sql,
  { workspaceId, destination }: { workspaceId: string; destination: string },
): Promise<{ waiting: number; due: number }> {
  const [row] = await sql.write<{ waiting: number; due: number }[]>`
    with probe as (
      update sites set back_off_until = (select service_time()), updated_at = (select service_time())
      where site = (select site from destinations where domain = ${destination}) and back_off_until > (select service_time())
        and exists (select 1 from recipients where destination = ${destination} and workspace_id = ${workspaceId}
          and status in ('queued', 'delayed'))
    )
    select count(*)::int as waiting, count(*) filter (where due_at <= (select service_time()))::int as due from recipients
    where destination = ${destination} and workspace_id = ${workspaceId} and status in ('queued', 'delayed')`;
  return row!;
}

/** False: it was already paused. */
export async function pauseDestination(sql: Sql, at: { workspaceId: string; destination: string }): Promise<boolean> {
  const rows = await sql.write`
    insert into paused_destinations (workspace_id, destination) values (${at.workspaceId}, ${at.destination})
    on conflict do nothing returning 1`;
  return rows.length > 0;
}

/** False: it was not paused. */
export async function resumeDestination(sql: Sql, at: { workspaceId: string; destination: string }): Promise<boolean> {
  const rows = await sql.write`
    delete from paused_destinations where workspace_id = ${at.workspaceId} and destination = ${at.destination} returning 1`;
  return rows.length > 0;
}

export type Purge = {
  workspaceId: string;
  destination: string;
  /** Only emails up to this id, so that a tenant that keeps sending cannot keep the purge from ending. */
  upTo: string;
  reason: string;
  /** One per event; their number is the batch size. */
  eventIds: readonly string[];
};

/**
 * Marks a batch of waiting recipients as failed, each with its event, in one statement; call it until it returns less than a
 * full batch. Locks as in delivery/store/settle.ts: recipients, skipping locked ones, then emails by id, then the counter.
 */
export async function purgeSome(sql: Sql, purge: Purge): Promise<number> {
  const { workspaceId, destination } = purge;
  const [row] = await sql.write<{ purged: number }[]>`
    with live as materialized (${liveWorkers(sql)}), picked as materialized (
      select r.email_id, r.position, r.address, r.attempts, r.status as was from recipients r cross join live
      where r.destination = ${destination} and r.workspace_id = ${workspaceId} and r.status in ('queued', 'delayed')
        and r.email_id <= ${purge.upTo} and (r.lease is null or r.lease >> 32 <> all (live.ids))
      order by r.due_at limit ${purge.eventIds.length} for update of r skip locked
    ), numbered as (
      -- The condition is always true. It makes the planner expect few rows and use primary keys below.
      select p.*, row_number() over (order by p.email_id, p.position) as ord from picked p where p.position + 0 = p.position
    ), mail as materialized (
      select e.* from (select distinct email_id from numbered order by email_id offset 0) n cross join lateral (
        select ${countColumns(sql)}, message_id, metadata from emails where workspace_id = ${workspaceId} and id = n.email_id limit 1 for update) e
    ), bump as (
      update event_counters set last = last + (select count(*) from numbered)
      where workspace_id = ${workspaceId} and (select count(*) from mail) > 0 returning last - (select count(*) from numbered) as base
    ), recipient as (
      update recipients r set status = 'failed', lease = null, reply = ${purge.reason}, settled_at = now()
      from numbered n where r.workspace_id = ${workspaceId} and r.email_id = n.email_id and r.position = n.position
    ), moves as (
      select ${workspaceId}::uuid as workspace_id, email_id, was, 'failed' as status, ${purge.reason}::text as reply from numbered
    ), ${countMoves(sql)}, event as (
      insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
      select ${workspaceId}, b.base + n.ord, i.id, 'email.failed', n.email_id, m.message_id, m.metadata,
        jsonb_build_object('recipients', jsonb_build_array(n.address), 'category', 'purged', 'reason', ${purge.reason}::text,
          'attempts', n.attempts), (select stamp_time())
      from numbered n cross join bump b join mail m on m.id = n.email_id
      join unnest(${purge.eventIds}::uuid[]) with ordinality as i(id, ord) on i.ord = n.ord
    )
    select count(*)::int as purged from numbered`;
  return row!.purged;
}

/** The depth and age of the whole queue, of all workspaces. */
export type QueueDepth = {
  due: number;
  later: number;
  leased: number;
  /** Seconds since the oldest waiting recipient became due; 0 if none waits. Paused destinations and sites in back-off do not count. */
  oldestDueSeconds: number;
  /** The same for recipients at sites that do not answer, from the site's first failure until it answers again. */
  oldestBackingOffSeconds: number;
};

/** Reads only open rows and groups them by lane first, so that the joins cost per lane. Index recipients_due. */
export async function queueDepth(sql: Sql): Promise<QueueDepth> {
  const [row] = await sql<QueueDepth[]>`
    with lane as (
      select destination, workspace_id,
        count(*) filter (where lease is null and due_at <= (select service_time())) as due,
        count(*) filter (where lease is null and due_at > (select service_time())) as later,
        count(*) filter (where lease is not null) as leased,
        min(due_at) filter (where lease is null and due_at <= (select service_time())) as oldest
      from recipients where status in ('queued', 'delayed') group by destination, workspace_id
    )
    select coalesce(sum(due), 0)::int as due, coalesce(sum(later), 0)::int as later, coalesce(sum(leased), 0)::int as leased,
      coalesce(extract(epoch from (select service_time()) - min(oldest) filter (where p.destination is null and coalesce(s.back_off_until <= (select service_time()), true))), 0)::float8 as "oldestDueSeconds",
      coalesce(extract(epoch from (select service_time()) - min(oldest) filter (where p.destination is null and (s.failures > 0 or s.back_off_until > (select service_time())))), 0)::float8 as "oldestBackingOffSeconds"
    from lane l
      left join paused_destinations p on p.workspace_id = l.workspace_id and p.destination = l.destination
      left join destinations d on d.domain = l.destination
      left join sites s on s.site = d.site`;
  return row!;
}
