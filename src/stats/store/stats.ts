/**
 * Reads the counts of a time range for StatsService. The cost grows with the number of hours, not with the mail in them.
 * Also deletes old hours, for housekeeping.
 */

import { firstUuidAt, uuidTime } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Counts } from "../rules.ts";
import { timeBounds } from "../rules.ts";
import { emailLagMs } from "./uncounted.ts";

export type Span = { workspaceId: string; from: Date; to: Date };

/** Buckets that are not empty, by their start in ms. Primary key of stats. */
export async function statsByBucket(sql: Sql, span: Span, bucketHours: number): Promise<Map<number, Counts>> {
  const bucket = sql`(extract(epoch from date_bin(${`${bucketHours} hours`}::interval, hour, 'epoch')) * 1000)::float8`;
  return await sumBy<number>(sql, { span, key: bucket, only: sql`site = ''` });
}

/** Primary key of stats. */
export async function statsBySite(sql: Sql, span: Span): Promise<Map<string, Counts>> {
  return await sumBy<string>(sql, { span, key: sql`site`, only: sql`site <> ''` });
}

type Sum = { span: Span; key: ReturnType<Sql>; only: ReturnType<Sql> };

/** Histograms are summed with one column per bucket: several times as fast as unnesting and grouping them. */
async function sumBy<Key>(sql: Sql, { span, key, only }: Sum): Promise<Map<Key, Counts>> {
  const rows = await sql<(Counts & { key: Key })[]>`
    select ${key} as key, ${total(sql, sql`emails`)} as emails, ${total(sql, sql`accepted`)} as accepted, ${total(sql, sql`delivered`)} as delivered,
      ${total(sql, sql`sent`)} as sent, ${total(sql, sql`bounced`)} as bounced, ${total(sql, sql`delayed`)} as delayed,
      ${total(sql, sql`complained`)} as complained, ${total(sql, sql`suppressed`)} as suppressed, ${total(sql, sql`failed`)} as failed,
      ${total(sql, sql`canceled`)} as canceled, array[${bucketIndexes.map((index) => total(sql, sql`times[${index}::int]`)).reduce((all, one) => sql`${all}, ${one}`)}] as times
    from stats where workspace_id = ${span.workspaceId} and hour >= ${span.from} and hour < ${span.to} and ${only} group by 1`;
  return new Map(rows.map(({ key, ...counts }) => [key, counts]));
}

/** SQL array indexes of the histogram. It has one bucket more than bounds, for deliveries longer than all of them. */
const bucketIndexes = [...timeBounds.keys(), timeBounds.length].map((bucket) => bucket + 1);

/** The contract's numbers have 32 bits. */
function total(sql: Sql, column: ReturnType<Sql>) {
  return sql`least(coalesce(sum(${column}), 0), 2147483647)::int`;
}

/** All mail before this time is counted: it is the time of the first event or email that is not. Three probes of primary keys. */
export async function countedUntil(sql: Sql, workspaceId: string, nowMs: number): Promise<number> {
  const newest = nowMs - emailLagMs;
  const [row] = await sql<{ eventAt: Date | null; emailId: string | null }[]>`
    select (select created_at from events e where e.workspace_id = c.workspace_id and e.number > coalesce(m.events_to, 0) order by e.number limit 1) as "eventAt",
      (select id from emails e where e.workspace_id = c.workspace_id and e.id > coalesce(m.emails_to, ${firstUuidAt(0)}::uuid)
        and e.id < ${firstUuidAt(newest)}::uuid order by e.id limit 1) as "emailId"
    from event_counters c left join stats_marks m using (workspace_id) where c.workspace_id = ${workspaceId}`;
  const waiting = [row?.eventAt?.getTime(), row?.emailId ? uuidTime(row.emailId) : undefined];
  return Math.min(newest, ...waiting.filter((at) => at !== undefined));
}

const deleteBatch = 10_000;

/** Deletes the hours before a time, in batches. Returns the number of rows. Index stats_old. */
export async function forgetStats(sql: Sql, before: Date): Promise<number> {
  for (let deleted = 0; ; ) {
    const rows = await sql`
      delete from stats where (workspace_id, hour, site) in (
        select workspace_id, hour, site from stats where hour < ${before} limit ${deleteBatch}) returning 1`;
    deleted += rows.length;
    if (rows.length < deleteBatch) return deleted;
  }
}
