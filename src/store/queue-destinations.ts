/** The queue by destination, for one workspace: what waits, and the holding, hastening and giving up of it. Called by QueueService. */
import { retrying, type Sql } from "./db.ts";
import { deadAfterSeconds } from "./workers.ts";

export type DestinationRow = {
  destination: string;
  site: string | null;
  state: "active" | "backing_off" | "paused";
  queued: number;
  inFlight: number;
  /** The id of the oldest waiting email, which carries the time it was accepted. */
  oldestId: string | null;
  nextAttemptAt: Date | null;
  lastReply: string | null;
  lastReplyAt: Date | null;
  failures: number;
};

export type DestinationFilter = {
  workspaceId: string;
  search: string | undefined;
  /** Last of the page before. */
  after: { recipients: number; destination: string } | undefined;
  limit: number;
};

/** Those with the most recipients first, paused ones also when they are empty. Reads the workspace's open recipients. */
export async function listDestinations(sql: Sql, filter: DestinationFilter): Promise<DestinationRow[]> {
  const like = filter.search && `%${filter.search.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
  const { workspaceId, after } = filter;
  return await sql<DestinationRow[]>`
    with live as materialized (${liveWorkers(sql)}), lane as (
      select r.destination, count(*) filter (where r.lease is null or r.lease >> 32 <> all (live.ids))::int as queued,
        count(*) filter (where r.lease >> 32 = any (live.ids))::int as in_flight,
        count(*) filter (where r.status = 'queued')::int as untried,
        min(r.email_id::text) filter (where r.lease is null) as oldest_id, min(r.due_at) filter (where r.lease is null) as due_at
      from recipients r cross join live where r.workspace_id = ${workspaceId} and r.status in ('queued', 'delayed')
      ${like ? sql`and r.destination like ${like}` : sql``}
      group by r.destination
    ), shown as (
      select coalesce(l.destination, p.destination) as destination, coalesce(l.queued, 0) as queued, coalesce(l.in_flight, 0) as in_flight,
        coalesce(l.untried, 0) as untried, l.oldest_id, l.due_at, p.destination is not null as paused
      from lane l full join (select destination from paused_destinations where workspace_id = ${workspaceId}
        ${like ? sql`and destination like ${like}` : sql``}) p on p.destination = l.destination
    ), page as (
      select * from shown
      ${after ? sql`where queued + in_flight < ${after.recipients} or (queued + in_flight = ${after.recipients} and destination > ${after.destination})` : sql``}
      order by queued + in_flight desc, destination limit ${filter.limit}
    )
    select p.destination, d.site, p.queued, p.in_flight as "inFlight", p.oldest_id as "oldestId",
      case when p.queued > 0 then greatest(p.due_at, s.back_off_until) end as "nextAttemptAt",
      case when p.paused then 'paused' when s.back_off_until > now() then 'backing_off'
        when p.queued > 0 and p.untried = 0 and p.in_flight = 0 and p.due_at > now() then 'backing_off' else 'active' end as state,
      last.reply as "lastReply", last.last_attempt_at as "lastReplyAt", coalesce(s.failures, 0) as failures
    from page p left join destinations d on d.domain = p.destination left join sites s on s.site = d.site
    left join lateral (
      select r.reply, r.last_attempt_at from recipients r where r.destination = p.destination and r.workspace_id = ${workspaceId}
        and r.status in ('queued', 'delayed') and r.last_attempt_at is not null order by r.last_attempt_at desc limit 1) last on true
    order by p.queued + p.in_flight desc, p.destination`;
}

/** Makes some of what was deferred due now; call it until it gives 0. A schedule that is still to come is kept. */
export async function hastenSome(
  sql: Sql,
  at: { workspaceId: string; destination: string; limit: number },
): Promise<number> {
  const { workspaceId, destination } = at;
  const rows = await sql`
    with seen as materialized (
      select r.email_id, r.position from recipients r
      where r.destination = ${destination} and r.workspace_id = ${workspaceId} and r.status in ('queued', 'delayed')
        and r.due_at > now() and r.lease is null
        and not exists (select 1 from emails e where e.workspace_id = r.workspace_id and e.id = r.email_id and e.scheduled_at > now())
      order by r.due_at limit ${at.limit}
    ), waiting as materialized (
      -- Found first and locked one by one then, see settle.ts.
      select s.* from seen s cross join lateral (
        select 1 from recipients where workspace_id = ${workspaceId} and email_id = s.email_id and position = s.position
          and lease is null and status || '' in ('queued', 'delayed') limit 1 for update skip locked) r
    )
    update recipients r set due_at = now() from waiting w
    where r.workspace_id = ${workspaceId} and r.email_id = w.email_id and r.position = w.position returning 1`;
  return rows.length;
}

/** How many recipients wait, and how many of them are due; brings the next probe of a site that is left alone forward. */
export async function probeDestination(
  sql: Sql,
  { workspaceId, destination }: { workspaceId: string; destination: string },
): Promise<{ waiting: number; due: number }> {
  const [row] = await sql<{ waiting: number; due: number }[]>`
    with probe as (
      update sites set back_off_until = now(), updated_at = clock_timestamp()
      where site = (select site from destinations where domain = ${destination}) and back_off_until > now()
        and exists (select 1 from recipients where destination = ${destination} and workspace_id = ${workspaceId}
          and status in ('queued', 'delayed'))
    )
    select count(*)::int as waiting, count(*) filter (where due_at <= now())::int as due from recipients
    where destination = ${destination} and workspace_id = ${workspaceId} and status in ('queued', 'delayed')`;
  return row!;
}

/** False: it was paused already. */
export async function pauseDestination(sql: Sql, at: { workspaceId: string; destination: string }): Promise<boolean> {
  const rows = await sql`
    insert into paused_destinations (workspace_id, destination) values (${at.workspaceId}, ${at.destination})
    on conflict do nothing returning 1`;
  return rows.length > 0;
}

/** False: it was not paused. */
export async function resumeDestination(sql: Sql, at: { workspaceId: string; destination: string }): Promise<boolean> {
  const rows = await sql`
    delete from paused_destinations where workspace_id = ${at.workspaceId} and destination = ${at.destination} returning 1`;
  return rows.length > 0;
}

export type Purge = {
  workspaceId: string;
  destination: string;
  /** What waits from before this email's time on is left alone, so that a busy sender cannot keep the purge from ending. */
  upTo: string;
  reason: string;
  /** As many as rows may be taken at once. */
  eventIds: readonly string[];
};

/**
 * Ends some waiting recipients as failed, each with its event, in one statement; call it until it gives 0. Same locks as settling,
 * see settle.ts: recipients by skipping what is locked, then emails by id, then the counter.
 */
export async function purgeSome(sql: Sql, purge: Purge): Promise<number> {
  const { workspaceId, destination } = purge;
  const [row] = await retrying(
    () => sql<{ purged: number }[]>`
    with live as materialized (${liveWorkers(sql)}), picked as materialized (
      select r.email_id, r.position, r.address, r.attempts from recipients r cross join live
      where r.destination = ${destination} and r.workspace_id = ${workspaceId} and r.status in ('queued', 'delayed')
        and r.email_id <= ${purge.upTo} and (r.lease is null or r.lease >> 32 <> all (live.ids))
      order by r.due_at limit ${purge.eventIds.length} for update of r skip locked
    ), held as (
      -- The condition is always true; it makes the planner expect few rows, so that what follows goes through primary keys.
      select p.*, row_number() over (order by p.email_id, p.position) as ord from picked p where p.position + 0 = p.position
    ), mail as materialized (
      select e.* from (select distinct email_id from held order by email_id offset 0) h cross join lateral (
        select id, message_id, metadata from emails where workspace_id = ${workspaceId} and id = h.email_id limit 1 for update) e
    ), bump as (
      update event_counters set last = last + (select count(*) from held)
      where workspace_id = ${workspaceId} and (select count(*) from mail) > 0 returning last - (select count(*) from held) as base
    ), recipient as (
      update recipients r set status = 'failed', lease = null, reply = ${purge.reason}, settled_at = now()
      from held h where r.workspace_id = ${workspaceId} and r.email_id = h.email_id and r.position = h.position
    ), email as (
      update emails e set open = e.open - d.closed, updated_at = now(),
        status = case when e.open > d.closed then 'queued' when e.accepted > 0 then 'sent' else 'failed' end,
        status_message = case when e.open > d.closed then e.status_message
          when e.accepted > 0 then format('accepted for %s of %s recipients', e.accepted, e.total) else ${purge.reason} end
      from (select email_id, count(*) as closed from held group by email_id) d
      where e.workspace_id = ${workspaceId} and e.id = d.email_id and (select count(*) from mail) > 0
    ), event as (
      insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
      select ${workspaceId}, b.base + h.ord, i.id, 'email.failed', h.email_id, m.message_id, m.metadata,
        jsonb_build_object('recipients', jsonb_build_array(h.address), 'category', 'purged', 'reason', ${purge.reason}::text,
          'attempts', h.attempts), clock_timestamp()
      from held h cross join bump b join mail m on m.id = h.email_id
      join unnest(${purge.eventIds}::uuid[]) with ordinality as i(id, ord) on i.ord = h.ord
    )
    select count(*)::int as purged from held`,
  );
  return row!.purged;
}

function liveWorkers(sql: Sql) {
  return sql`select coalesce(array_agg(id::bigint), '{}') as ids from workers where seen_at > now() - make_interval(secs => ${deadAfterSeconds})`;
}
