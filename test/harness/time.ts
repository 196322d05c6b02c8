/** Moves the clocks of a test's own database: the database's clock by replacing wall_time(), service time by changing its row. */
import type { Sql } from "../../src/postgres/pool.ts";
import { type Beat, beat } from "../../src/postgres/service-clock.ts";

/** From now on, every statement of every session sees the database's clock this far from the real one, for example "3 days". */
export async function shiftWallTime(sql: Sql, interval: string): Promise<void> {
  if (!/^-?\d+ (seconds?|hours?|days?)$/.test(interval)) throw new Error(`not an interval: ${interval}`);
  await sql.unsafe(`create or replace function wall_time() returns timestamptz language sql volatile
    return clock_timestamp() + interval '${interval}'`);
}

/** Lets service time pass, as if programs had run for this long. The database's clock stays. */
export async function passServiceTime(sql: Sql, interval: string): Promise<void> {
  await sql`update service_clock set service_at = service_at + ${interval}::interval, scheduled_lag = scheduled_lag - ${interval}::interval`;
}

/** Service time minus the real time, in seconds. */
export async function serviceLeadSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ lead: number }[]>`
    select extract(epoch from service_time() - clock_timestamp())::float8 as lead`;
  return row!.lead;
}

/** A beat of a program that has observed this time since the last beat of any program. */
export async function beatAfter(sql: Sql, workerIds: readonly number[], ms: number): Promise<Beat> {
  const [row] = await sql<{ serviceMs: number }[]>`
    select (extract(epoch from service_at) * 1000)::float8 as "serviceMs" from service_clock`;
  return await beat(sql, workerIds, { ms, sinceServiceMs: row!.serviceMs });
}
