/** The rows of objects: which content is in object storage, and which objects are no longer used. */
import type { Sql } from "../../postgres/pool.ts";
import type { ObjectPlace } from "../rules/name.ts";

export type ContentKind = "emails" | "inbound";

/** What is needed to read an object. */
export type ObjectRef = ObjectPlace & { bytes: number; keySealed: string };

/** An object that is stored, for a part of an email or an inbound message. */
export type NewObject = ObjectRef & { workspaceId: string; ownerId: string; part: number };

/** The rows for objects as a query, of which each statement that stores content selects what it stores. */
export function objectRows(sql: Sql, objects: readonly NewObject[]) {
  return sql`json_to_recordset((${JSON.stringify(objects)}::text)::json) as o("workspaceId" uuid, "ownerId" uuid, part smallint, id uuid,
    line text, bytes bigint, "keySealed" text)`;
}

/** Part of the statement that stores emails (emails/store/emails.ts): the rows of those that are `storable`. */
export function withEmailObjects(sql: Sql, objects: readonly NewObject[]) {
  if (objects.length === 0) return sql``;
  return sql`, object as (
      insert into content_objects (workspace_id, owner_id, part, content, id, line, day, bytes, key_sealed)
      select s.workspace_id, s.id, o.part, 'emails', o.id, o.line, (s.first_at at time zone 'UTC')::date, o.bytes, o."keySealed"
      from ${objectRows(sql, objects)} join storable s on s.id = o."ownerId"
    )`;
}

/** The UTC day of the time in a UUIDv7: the partition of an inbound message follows from its id. `column`: a name in SQL. */
export function dayOfId(sql: Sql, column: string) {
  return sql`(to_timestamp(('x' || lpad(left(replace(${sql.unsafe(column)}::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0) at time zone 'UTC')::date`;
}

/** For the rows of inbound_contents and email_contents: the object of a piece as JSON. `column`: a name in SQL. */
export function objectOf(sql: Sql, column: string) {
  return sql`(select json_build_object('id', o.id, 'line', o.line, 'bytes', o.bytes, 'keySealed', o.key_sealed) from content_objects o
    where o.id = ${sql.unsafe(column)})`;
}

/** The content of an email gets another day. As the last of the statements that move content, so that it sees what moved meanwhile. */
export async function moveObjects(tx: Sql, email: { workspaceId: string; id: string; to: string }): Promise<void> {
  await tx`
    update content_objects set day = ${email.to}::date where workspace_id = ${email.workspaceId} and owner_id = ${email.id}`;
}

/** The days that have rows, oldest first. One read of the index content_objects_by_day for each. */
export async function listObjectDays(sql: Sql, content: ContentKind): Promise<string[]> {
  const rows = await sql<{ day: string }[]>`
    with recursive days as (
      select min(day) as day from content_objects where content = ${content}
      union all
      select (select min(day) from content_objects where content = ${content} and day > d.day) from days d where d.day is not null
    ) select day::text as day from days where day is not null`;
  return rows.map(({ day }) => day);
}

/** Deletes up to `limit` rows of a day. The trigger of the table records their objects as unused. */
export async function forgetObjects(
  sql: Sql,
  of: { content: ContentKind; day: string; limit: number },
): Promise<number> {
  const rows = await sql`
    delete from content_objects where id in (
      select id from content_objects where content = ${of.content} and day = ${of.day}::date limit ${of.limit})
    returning 1`;
  return rows.length;
}

/** Objects that were uploaded for content that was not committed. */
export async function noteUnused(sql: Sql, places: readonly ObjectPlace[]): Promise<void> {
  if (places.length === 0) return;
  await sql`
    insert into unused_objects (id, line)
    select * from unnest(${places.map(({ id }) => id)}::uuid[], ${places.map(({ line }) => line)}::text[]) on conflict (id) do nothing`;
}

/** Those of the ids that a row refers to. */
export async function findUsed(sql: Sql, ids: readonly string[]): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`select id from content_objects where id = any(${ids}::uuid[])`;
  return new Set(rows.map(({ id }) => id));
}

/** Objects that have been unused for so long that every read which began before has ended. Never one that a row refers to: whether an upload was
 * committed is not always known when it is recorded as unused. */
export async function listUnused(
  sql: Sql,
  { afterMinutes, limit }: { afterMinutes: number; limit: number },
): Promise<ObjectPlace[]> {
  return await sql<ObjectPlace[]>`
    select id, line from unused_objects u where unused_at < (select service_time()) - ${afterMinutes} * interval '1 minute'
      and not exists (select 1 from content_objects o where o.id = u.id)
    order by unused_at limit ${limit}`;
}

export async function forgetUnused(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`delete from unused_objects where id = any(${ids}::uuid[])`;
}

export type StoredObject = ObjectRef & { ownerId: string; part: number; content: ContentKind };

/** In the order of ids, for a move. Primary key. */
export async function listObjects(
  sql: Sql,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<(StoredObject & { workspaceId: string })[]> {
  return await sql<(StoredObject & { workspaceId: string })[]>`
    select workspace_id as "workspaceId", owner_id as "ownerId", part, content, id, line, bytes::float8 as bytes, key_sealed as "keySealed"
    from content_objects ${after ? sql`where id > ${after}` : sql``} order by id limit ${limit}`;
}

/** For the status and the metrics. */
export async function countObjects(sql: Sql): Promise<{ objects: number; bytes: number; unused: number }> {
  const [row] = await sql<[{ objects: number; bytes: number; unused: number }]>`
    select (select count(*) from content_objects)::float8 as objects, (select coalesce(sum(bytes), 0) from content_objects)::float8 as bytes,
      (select count(*) from unused_objects)::float8 as unused`;
  return row;
}

export async function hasObjects(sql: Sql): Promise<boolean> {
  return (await sql`select 1 from content_objects limit 1`).length > 0;
}

/** Where the sweep of one store has arrived, and when it last finished. */
export type SweepState = { store: string; after?: string; finishedAt?: string };

export async function readSweep(sql: Sql): Promise<{ state: SweepState | undefined; isDue: boolean }> {
  const [row] = await sql<{ value: string; isDue: boolean }[]>`
    select value, coalesce((value::jsonb ->> 'finishedAt')::timestamptz, '-infinity') < (select service_time()) - interval '20 hours' as "isDue"
    from settings where name = 'content_sweep'`;
  return { state: row && (JSON.parse(row.value) as SweepState), isDue: row?.isDue ?? true };
}

export async function storeSweep(
  sql: Sql,
  state: Omit<SweepState, "finishedAt"> & { isFinished: boolean },
): Promise<void> {
  const { isFinished, ...rest } = state;
  await sql`
    insert into settings (name, value) values ('content_sweep',
      (${JSON.stringify(rest)}::jsonb || case when ${isFinished} then jsonb_build_object('finishedAt', service_time()) else '{}' end)::text)
    on conflict (name) do update set value = excluded.value, updated_at = now()`;
}

/** Takes or extends the turn to do something, so that one node at a time does it. A turn ends by itself when its owner is killed. */
export async function takeTurn(sql: Sql, turn: { what: string; owner: string; seconds: number }): Promise<boolean> {
  const rows = await sql`
    insert into settings as s (name, value)
    values (${`content_turn_${turn.what}`}, jsonb_build_object('owner', ${turn.owner}::text, 'until', service_time() + ${turn.seconds} * interval '1 second')::text)
    on conflict (name) do update set value = excluded.value, updated_at = now()
      where s.value::jsonb ->> 'owner' = ${turn.owner} or (s.value::jsonb ->> 'until')::timestamptz < service_time()
    returning 1`;
  return rows.length > 0;
}

export async function endTurn(sql: Sql, turn: { what: string; owner: string }): Promise<void> {
  await sql`delete from settings where name = ${`content_turn_${turn.what}`} and value::jsonb ->> 'owner' = ${turn.owner}`;
}
