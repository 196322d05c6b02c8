/** Reads the counts of a span of time: what is read grows with the hours asked for and not with the mail in them. */
import type { Counts } from "../rules/stats.ts";
import { timeBounds } from "../rules/stats-times.ts";
import type { Sql } from "./db.ts";
import { firstUuidAt, uuidTime } from "./ids.ts";
import { emailLagMs } from "./stats-news.ts";

export type Span = { workspaceId: string; from: Date; to: Date };

/** Buckets that hold anything, by their beginning in ms. Primary key of stats. */
export async function statsByBucket(sql: Sql, span: Span, bucketHours: number): Promise<Map<number, Counts>> {
  const bucket = sql`(extract(epoch from date_bin(${`${bucketHours} hours`}::interval, hour, 'epoch')) * 1000)::float8`;
  return await sumBy<number>(sql, { span, key: bucket, only: sql`site = ''` });
}

/** Primary key of stats. */
export async function statsBySite(sql: Sql, span: Span): Promise<Map<string, Counts>> {
  return await sumBy<string>(sql, { span, key: sql`site`, only: sql`site <> ''` });
}

type Sum = { span: Span; key: ReturnType<Sql>; only: ReturnType<Sql> };

/** Histograms are added place by place, each as a column of its own: several times as fast as unnesting and grouping them. */
async function sumBy<Key>(sql: Sql, { span, key, only }: Sum): Promise<Map<Key, Counts>> {
  const rows = await sql<(Counts & { key: Key })[]>`
    select ${key} as key, ${total(sql, sql`emails`)} as emails, ${total(sql, sql`accepted`)} as accepted, ${total(sql, sql`delivered`)} as delivered,
      ${total(sql, sql`sent`)} as sent, ${total(sql, sql`bounced`)} as bounced, ${total(sql, sql`delayed`)} as delayed,
      ${total(sql, sql`complained`)} as complained, ${total(sql, sql`suppressed`)} as suppressed, ${total(sql, sql`failed`)} as failed,
      ${total(sql, sql`canceled`)} as canceled, array[${places.map((place) => total(sql, sql`times[${place}::int]`)).reduce((all, one) => sql`${all}, ${one}`)}] as times
    from stats where workspace_id = ${span.workspaceId} and hour >= ${span.from} and hour < ${span.to} and ${only} group by 1`;
  return new Map(rows.map(({ key, ...counts }) => [key, counts]));
}

/** One more than bounds: what took longer than all of them. */
const places = [...timeBounds.keys(), timeBounds.length].map((place) => place + 1);

/** The contract's numbers have 32 bits. */
function total(sql: Sql, column: ReturnType<Sql>) {
  return sql`least(coalesce(sum(${column}), 0), 2147483647)::int`;
}

/** Everything before this moment is counted: that of the first event or email that is not. Three probes of primary keys. */
export async function countedUntil(sql: Sql, workspaceId: string, nowMs: number): Promise<number> {
  const newest = nowMs - emailLagMs;
  const [row] = await sql<{ eventAt: Date | null; emailId: string | null }[]>`
    select (select created_at from events e where e.workspace_id = c.workspace_id and e.number > coalesce(m.events_to, 0)
        and e.created_at >= coalesce(m.events_at, 'epoch') - interval '1 day' order by e.number limit 1) as "eventAt",
      (select id from emails e where e.workspace_id = c.workspace_id and e.id > coalesce(m.emails_to, ${firstUuidAt(0)}::uuid)
        and e.id < ${firstUuidAt(newest)}::uuid order by e.id limit 1) as "emailId"
    from event_counters c left join stats_marks m using (workspace_id) where c.workspace_id = ${workspaceId}`;
  const waiting = [row?.eventAt?.getTime(), row?.emailId ? uuidTime(row.emailId) : undefined];
  return Math.min(newest, ...waiting.filter((at) => at !== undefined));
}

const forgottenAtOnce = 10_000;

/** Hours past their time. Index stats_old. */
export async function forgetStats(sql: Sql, days: number): Promise<number> {
  for (let forgotten = 0; ; ) {
    const rows = await sql`
      delete from stats where (workspace_id, hour, site) in (
        select workspace_id, hour, site from stats where hour < now() - ${`${days} days`}::interval limit ${forgottenAtOnce}) returning 1`;
    forgotten += rows.length;
    if (rows.length < forgottenAtOnce) return forgotten;
  }
}
