/**
 * Counts new mail into the hours of table `stats_groups`: by sending domain, key and chosen metadata keys. Only the largest values of an
 * hour have a row, so a tenant with a new value for each email cannot fill the table. Called by fold.ts in its transaction.
 */
import type { Sql } from "../../postgres/pool.ts";
import { addCounts, type Counts, countNames, countsOf, keepLargest, noCounts, valuesKept } from "../rules.ts";
import type { Span } from "./stats.ts";
import type { GroupKey, UncountedEmails, UncountedEvents } from "./uncounted.ts";

type Found = {
  events: readonly UncountedEvents[];
  emails: readonly UncountedEmails[];
  recounted: readonly UncountedEmails[];
};
type HourKey = Omit<GroupKey, "value">;
type Hour = { at: HourKey; stored: ReadonlyMap<string, Counts>; values: Map<string, Counts> };

/** Loads the hours that new mail is in, and adds it. `write` stores the values that changed. Primary key. */
export async function storedGroups(tx: Sql, { events, emails, recounted }: Found): Promise<{ write(): Promise<void> }> {
  const isInGroup = ({ dimension }: GroupKey) => dimension !== "";
  const hours = await loadHours(tx, [...events, ...emails, ...recounted].filter(isInGroup));
  const hourOf = (at: HourKey) => hours.get(keyOf(at))!;
  for (const group of events.filter(isInGroup)) {
    const counts = countsOf(group);
    if (counts) add(hourOf(group), group.value, counts);
  }
  for (const group of emails.filter(isInGroup)) add(hourOf(group), group.value, acceptedIn(group));
  // The recount has the accepted mail of the whole hour, also what was counted before.
  for (const hour of new Set(recounted.filter(isInGroup).map(hourOf)))
    for (const [value, counts] of hour.values)
      if (counts.emails > 0 || counts.accepted > 0) hour.values.set(value, { ...counts, emails: 0, accepted: 0 });
  for (const group of recounted.filter(isInGroup)) add(hourOf(group), group.value, acceptedIn(group));
  return { write: () => writeHours(tx, [...hours.values()]) };
}

function add({ values }: Hour, value: string, counts: Counts): void {
  values.set(value, addCounts(values.get(value) ?? noCounts(), counts));
}

function acceptedIn({ emails, recipients }: UncountedEmails): Counts {
  return { ...noCounts(), emails, accepted: recipients };
}

function keyOf({ workspaceId, dimension, hourMs }: HourKey): string {
  return JSON.stringify([workspaceId, dimension, hourMs]);
}

type Row = Omit<Counts, "times"> & GroupKey;

async function loadHours(tx: Sql, touched: readonly HourKey[]): Promise<Map<string, Hour>> {
  const keys = [...new Map(touched.map((at) => [keyOf(at), at])).values()];
  const hours = new Map(keys.map((at) => [keyOf(at), { at, values: new Map<string, Counts>() }]));
  const rows = await tx<Row[]>`
    select g.workspace_id as "workspaceId", g.dimension, (extract(epoch from g.hour) * 1000)::float8 as "hourMs", g.value, g.emails, g.accepted,
      g.delivered, g.sent, g.bounced, g.delayed, g.complained, g.suppressed, g.failed, g.canceled
    from unnest(${keys.map((at) => at.workspaceId)}::uuid[], ${keys.map((at) => at.dimension)}::text[],
      ${keys.map((at) => new Date(at.hourMs))}::timestamptz[]) as k(workspace_id, dimension, hour)
    join stats_groups g on g.workspace_id = k.workspace_id and g.dimension = k.dimension and g.hour = k.hour`;
  for (const { workspaceId, dimension, hourMs, value, ...counts } of rows)
    hours.get(keyOf({ workspaceId, dimension, hourMs }))!.values.set(value, { ...counts, times: [] });
  return new Map([...hours].map(([key, { at, values }]) => [key, { at, values, stored: new Map(values) }]));
}

/** Writes only the rows that changed: an hour can have many values, and a fold touches few of them. Primary key. */
async function writeHours(tx: Sql, hours: readonly Hour[]): Promise<void> {
  const rows: object[] = [];
  const dropped: object[] = [];
  for (const { at, stored, values } of hours) {
    const key = { workspace_id: at.workspaceId, dimension: at.dimension, hour: new Date(at.hourMs) };
    const kept = keepLargest(values, valuesKept);
    for (const [value, { times: _, ...counts }] of kept)
      if (!stored.has(value) || differ(stored.get(value)!, kept.get(value)!)) rows.push({ ...key, value, ...counts });
    for (const value of stored.keys()) if (!kept.has(value)) dropped.push({ ...key, value });
  }
  if (rows.length === 0 && dropped.length === 0) return;
  await tx`
    with dropped as (
      delete from stats_groups g using json_populate_recordset(null::stats_groups, ${JSON.stringify(dropped)}::text::json) d
      where g.workspace_id = d.workspace_id and g.dimension = d.dimension and g.hour = d.hour and g.value = d.value
    )
    insert into stats_groups (workspace_id, dimension, hour, value, emails, accepted, delivered, sent, bounced, delayed, complained, suppressed,
      failed, canceled)
    select workspace_id, dimension, hour, value, emails, accepted, delivered, sent, bounced, delayed, complained, suppressed, failed, canceled
    from json_populate_recordset(null::stats_groups, ${JSON.stringify(rows)}::text::json)
    on conflict (workspace_id, dimension, hour, value) do update set emails = excluded.emails, accepted = excluded.accepted,
      delivered = excluded.delivered, sent = excluded.sent, bounced = excluded.bounced, delayed = excluded.delayed,
      complained = excluded.complained, suppressed = excluded.suppressed, failed = excluded.failed, canceled = excluded.canceled`;
}

function differ(a: Counts, b: Counts): boolean {
  return countNames.some((name) => a[name] !== b[name]);
}

/** The counts of a dimension by stored value, summed over a time range. The cost grows with the number of hours. Primary key. */
export async function statsByValue(sql: Sql, span: Span, dimension: string): Promise<Map<string, Counts>> {
  const total = (column: ReturnType<Sql>) => sql`least(sum(${column}), 2147483647)::int`;
  const rows = await sql<(Omit<Counts, "times"> & { value: string })[]>`
    select value, ${total(sql`emails`)} as emails, ${total(sql`accepted`)} as accepted, ${total(sql`delivered`)} as delivered,
      ${total(sql`sent`)} as sent, ${total(sql`bounced`)} as bounced, ${total(sql`delayed`)} as delayed,
      ${total(sql`complained`)} as complained, ${total(sql`suppressed`)} as suppressed, ${total(sql`failed`)} as failed,
      ${total(sql`canceled`)} as canceled
    from stats_groups where workspace_id = ${span.workspaceId} and dimension = ${dimension} and hour >= ${span.from} and hour < ${span.to}
    group by value`;
  return new Map(rows.map(({ value, ...counts }) => [value, { ...counts, times: [] }]));
}

/** The names of keys, also of revoked ones. Primary key. */
export async function keyNames(sql: Sql, workspaceId: string, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; name: string }[]>`
    select id, name from keys where workspace_id = ${workspaceId} and id = any(${ids as string[]}::uuid[])`;
  return new Map(rows.map(({ id, name }) => [id, name]));
}

const deleteBatch = 10_000;

/** Deletes the hours before a time, in batches. Returns the number of rows. Index stats_groups_old. */
export async function forgetGroups(sql: Sql, before: Date): Promise<number> {
  for (let deleted = 0; ; ) {
    const rows = await sql`
      delete from stats_groups where ctid = any(array(select ctid from stats_groups where hour < ${before} limit ${deleteBatch})) returning 1`;
    deleted += rows.length;
    if (rows.length < deleteBatch) return deleted;
  }
}
