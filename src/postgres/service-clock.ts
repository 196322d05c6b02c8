/**
 * Service time: the clock for durations that decide (retries, leases, default expiry, retention). It advances only with time that a
 * running program observed, so a jump of the database's clock moves no deadline. Wall time, the database's own clock, stays for ids, for
 * everything shown and for times that a caller names. heartbeat.ts calls `beat`; decision 30 has the reasons.
 *
 * In SQL: `(select service_time())` in stores that compare durations (`serviceTime` in frequent statements), `wall_time()` instead of clock_timestamp(), and
 * `(select stamp_time())` for events.created_at. The sub-select runs once per statement and allows an index condition.
 */
import type { Sql } from "./pool.ts";

/** Added to a program's monotonic time between two beats, because the second statement may take longer than the first. */
const slackMs = 1_000;
/** The same limit as in the function service_time(): what a beat may add when this program has observed nothing yet. */
export const unobservedMs = 15_000;

export type Beat = {
  /** The workers of this program whose rows exist. */
  alive: number[];
  /** Wall time within the range for which partitions exist: for ids and the program's clock. */
  stampMs: number;
  wallMs: number;
  serviceMs: number;
  /** Wall time for which the partitions were last ensured. */
  partitionsMs: number;
  /** Wall time minus service time, now and when the due times of scheduled mail were computed. */
  lagMs: number;
  scheduledLagMs: number;
};

/** What a program has observed since its last beat. */
export type Observed = {
  /** By its monotonic clock. */
  ms: number;
  /** The service time of that beat. */
  sinceServiceMs: number;
};

/**
 * Advances service time by the wall time since the last beat of any program, but never back and never by more than this program
 * observed since its own last beat, less the time that others have added meanwhile. The first beat of all starts at wall time. Renews the
 * rows of the given workers. The lock on the one row puts programs in order.
 */
export async function beat(sql: Sql, workerIds: readonly number[], observed?: Observed): Promise<Beat> {
  const most = observed
    ? sql`greatest(${observed.ms + slackMs} * interval '1 millisecond' - (m.service_at - to_timestamp(${observed.sinceServiceMs}::float8 / 1000)), interval '0')`
    : sql`${unobservedMs} * interval '1 millisecond'`;
  const [row] = await sql<Beat[]>`
    with locked as materialized (select started, service_at, wall_at from service_clock for update),
    moment as materialized (select wall_time() as wall, * from locked),
    moved as (
      update service_clock c set wall_at = m.wall, started = true, service_at = case when m.started
        then m.service_at + least(greatest(m.wall - m.wall_at, interval '0'), ${most}) else m.wall end
      from moment m returning c.*),
    seen as (
      update workers set seen_at = now(), beat_at = (select service_at from moved)
      where id = any(${workerIds}::int[]) returning id)
    select coalesce((select array_agg(id) from seen), '{}') as alive,
      ${epochMs(sql, sql`least(greatest(wall_at, partitions_at - interval '1 day'), partitions_at + interval '1 day')`)} as "stampMs",
      ${epochMs(sql, sql`wall_at`)} as "wallMs", ${epochMs(sql, sql`service_at`)} as "serviceMs",
      ${epochMs(sql, sql`partitions_at`)} as "partitionsMs",
      ${epochMs(sql, sql`wall_at - service_at`)} as "lagMs", ${epochMs(sql, sql`scheduled_lag`)} as "scheduledLagMs"
    from moved`;
  return row!;
}

/** The database's clocks for a program without heartbeats, such as a command. */
export async function readClocks(sql: Sql): Promise<{ wallMs: number; serviceMs: number }> {
  const [row] = await sql<{ wallMs: number; serviceMs: number }[]>`
    select ${epochMs(sql, sql`stamp_time()`)} as "wallMs", ${epochMs(sql, sql`service_time()`)} as "serviceMs"`;
  return row!;
}

/** `service_time()` without the call, which takes as long as a small statement: for statements that run for every email. */
export function serviceTime(sql: Sql) {
  return sql`(select service_at + least(greatest(wall_time() - wall_at, interval '0'), interval '15 seconds') from service_clock)`;
}

/** `stamp_time()` without the call. */
export function stampTime(sql: Sql) {
  return sql`(select least(greatest(wall_time(), partitions_at - interval '1 day'), partitions_at + interval '1 day') from service_clock)`;
}

/** A service time as wall time, to show it. By the clocks of the last beat, so that it is the same in every answer. */
export function shownTime(sql: Sql, time: ReturnType<Sql>) {
  return sql`${time} + (select wall_at - service_at from service_clock)`;
}

function epochMs(sql: Sql, time: ReturnType<Sql>) {
  return sql`(extract(epoch from ${time}) * 1000)::float8`;
}
