/** What the nodes share about receivers: the site of each destination, the sites that answer and how fast, and the allowance and back-off
 * of sites in trouble. Called by pace/sites.ts in batches, never per recipient. */
import type { Sql } from "../../postgres/pool.ts";
import { isAlive } from "../../postgres/workers.ts";
import type { Usual } from "../rules/stall.ts";

export async function saveDestinations(
  sql: Sql,
  found: readonly { domain: string; site: string; ttlMs: number }[],
): Promise<void> {
  await sql`
    insert into destinations (domain, site, resolved_at, expires_at)
    select domain, site, now(), (select service_time()) + ttl_ms * interval '1 millisecond'
    from unnest(${found.map((row) => row.domain)}::text[], ${found.map((row) => row.site)}::text[], ${found.map((row) => row.ttlMs)}::float8[])
      as f(domain, site, ttl_ms) order by domain
    on conflict (domain) do update set site = excluded.site, resolved_at = excluded.resolved_at, expires_at = excluded.expires_at`;
}

/** Index: the primary key. */
export async function readDestinations(
  sql: Sql,
  domains: readonly string[],
): Promise<{ domain: string; site: string; ttlMs: number }[]> {
  return await sql<{ domain: string; site: string; ttlMs: number }[]>`
    select domain, site, (extract(epoch from expires_at - (select service_time())) * 1000)::float8 as "ttlMs"
    from destinations where domain = any (${domains}::text[]) and expires_at > (select service_time())`;
}

export type SiteRow = {
  site: string;
  /** Connections of all nodes together; null: the site's limit applies. */
  allowance: number | null;
  failures: number;
  /** Zero or negative: the site may be tried. */
  backOffMs: number;
  /** The site has answered within the last month. */
  answered: boolean;
  stalled: boolean;
  usual: Usual | null;
  /** The `since` of the next `readSites`. */
  changedAt: string;
};

/** Sites whose row has changed; index sites_changed. Reads the last 20 s again: a row is committed later than its time stamp, and after a jump
 * of the database's clock service time can go back by up to 15 s. */
export async function readSites(sql: Sql, since: string | undefined): Promise<SiteRow[]> {
  return await sql<SiteRow[]>`
    select ${siteColumns(sql)} from sites
    ${since === undefined ? sql`where allowance is not null or failures > 0 or answered_at is not null or stalled_at is not null` : sql`where updated_at > ${since}::timestamptz - interval '20 seconds'`}
    order by updated_at desc limit 10000`;
}

/** The rank of this worker, by age, among the live workers that deliver. A worker that has renewed its id counts twice until the old id
 * expires: its share is then too small for a while, but never too large. */
export async function readDeliveryNodes(sql: Sql, workerId: number): Promise<{ rank: number; nodes: number }> {
  const [row] = await sql<{ rank: number; nodes: number }[]>`
    select greatest(count(*)::int, 1) as nodes, count(*) filter (where id < ${workerId})::int as rank from workers
    where 'delivery' = any (roles) and ${isAlive(sql)}`;
  return row!;
}

export type SiteReport = {
  site: string;
  /** The site's limit of connections. */
  cap: number;
  /** Halve the allowance: the site asked for less. */
  shrink: boolean;
  /** Connections earned by success since the last report. */
  growth: number;
  /** The site answered again after a failure. */
  recovered: boolean;
  /** Back off for this long: the site did not answer, or kept asking for less. */
  backOffMs: number | undefined;
  reply: string | undefined;
};

/**
 * Writes this node's reports and returns the shared state. Two nodes that meet the same trouble at the same time count it once: an
 * allowance is halved at most once a second, and a back-off that is still running is not extended.
 */
export async function reportSites(sql: Sql, reports: readonly SiteReport[]): Promise<SiteRow[]> {
  const input = JSON.stringify(
    reports.map(({ site, cap, shrink, growth, recovered, backOffMs, reply }) => ({
      site,
      cap,
      shrink,
      growth,
      recovered,
      reply,
      back_off: backOffMs === undefined ? undefined : `${backOffMs} milliseconds`,
    })),
  );
  return await sql<SiteRow[]>`
    with input as (
      select * from json_to_recordset((${input}::text)::json) as x(site text, cap real, shrink boolean, growth real, recovered boolean,
        back_off interval, reply text)
    ), locked as materialized (
      select s.site from sites s where s.site in (select site from input) order by s.site for update
    ), changed as (
      update sites s set
        allowance = case
          when i.back_off is not null then 1
          when i.shrink and coalesce(s.shrunk_at < (select service_time()) - interval '1 second', true) then greatest(1, least(i.cap, coalesce(s.allowance, i.cap)) / 2)
          when not i.shrink and s.allowance + i.growth < i.cap then s.allowance + i.growth
          when i.shrink then s.allowance end,
        shrunk_at = case when i.shrink or i.back_off is not null then (select service_time()) else s.shrunk_at end,
        failures = case when i.recovered then 0 when i.back_off is not null and coalesce(s.back_off_until <= (select service_time()), true) then s.failures + 1 else s.failures end,
        back_off_until = case when i.recovered then null when i.back_off is not null and coalesce(s.back_off_until <= (select service_time()), true) then (select service_time()) + i.back_off
          else s.back_off_until end,
        last_reply = coalesce(i.reply, s.last_reply), last_reply_at = case when i.reply is null then s.last_reply_at else now() end,
        updated_at = (select service_time())
      from input i where s.site = i.site and (select count(*) from locked) > 0
      returning s.*
    ), inserted as (
      insert into sites (site, allowance, shrunk_at, failures, back_off_until, last_reply, last_reply_at, updated_at)
      select i.site, case when i.back_off is not null then 1 else greatest(1, i.cap / 2) end, (select service_time()), case when i.back_off is null then 0 else 1 end,
        (select service_time()) + i.back_off, i.reply, case when i.reply is null then null else now() end, (select service_time())
      from input i where (i.shrink or i.back_off is not null) and i.site not in (select site from locked) order by i.site
      on conflict do nothing
      returning sites.*
    )
    select ${siteColumns(sql)} from (select * from changed union all select * from inserted) s`;
}

/** A site that answered this node, or stopped answering it. */
export type KnownSite = { site: string; stalled: boolean; usual: Usual };

/** Index: the primary key. */
export async function saveKnownSites(sql: Sql, known: readonly KnownSite[]): Promise<void> {
  await sql`
    insert into sites (site, answered_at, stalled_at, usual_ms, updated_at)
    select site, case when not stalled then (select service_time()) end, case when stalled then now() end, usual, (select service_time())
    from unnest(${known.map(({ site }) => site)}::text[], ${known.map(({ stalled }) => stalled)}::boolean[],
      ${known.map(({ usual }) => JSON.stringify(usual))}::jsonb[]) as k(site, stalled, usual) order by site
    on conflict (site) do update set answered_at = coalesce(excluded.answered_at, sites.answered_at),
      stalled_at = case when excluded.stalled_at is not null then coalesce(sites.stalled_at, excluded.stalled_at) end,
      usual_ms = excluded.usual_ms, updated_at = excluded.updated_at`;
}

export type StalledSite = { site: string; since: Date; recipients: number };

/** Sites that do not answer, and how many recipients the nodes hold for each; longest stall first. */
export async function listStalledSites(sql: Sql, limit: number): Promise<StalledSite[]> {
  return await sql<StalledSite[]>`
    select s.site, s.stalled_at as since, (select count(*)::int from destinations d join recipients r on r.destination = d.domain
      where d.site = s.site and r.status in ('queued', 'delayed') and r.lease is not null) as recipients
    from sites s where s.stalled_at is not null order by s.stalled_at limit ${limit}`;
}

/** Housekeeping: deletes sites without trouble and without an answer after an hour, sites in trouble after a week without a report, sites
 * that answered after a month, and destinations that expired a week ago. */
export async function forgetSites(sql: Sql): Promise<void> {
  await sql`delete from sites where updated_at < (select service_time()) - case when answered_at is not null then interval '30 days'
    when allowance is null and failures = 0 and stalled_at is null then interval '1 hour' else interval '7 days' end`;
  await sql`delete from destinations where expires_at < (select service_time()) - interval '7 days'`;
}

function siteColumns(sql: Sql) {
  return sql`site, allowance::float8 as allowance, failures, coalesce((extract(epoch from back_off_until - (select service_time())) * 1000)::float8, 0) as "backOffMs",
    coalesce(answered_at > (select service_time()) - interval '30 days', false) as answered, stalled_at is not null as stalled, usual_ms as usual, updated_at::text as "changedAt"`;
}
