/** SQL of the entries of recipients who have unsubscribed, for the API and the page. delivery/store/lease.ts reads them when a recipient is
 * due, and changes.ts writes those of recipients. Only PostgreSQL lowers addresses, because it also lowers those of emails that are due:
 * JavaScript has other results, for example for a Σ at the end of a word. */
import type { Sql } from "../../../postgres/pool.ts";
import { stampTime } from "../../../postgres/service-clock.ts";

export type UnsubscribeMethod = "one_click" | "page" | "api";

export type UnsubscribeRow = {
  address: string;
  topic: string;
  method: UnsubscribeMethod;
  emailId: string | null;
  sourceEvent: string | null;
  createdAt: Date;
  /** Microseconds since 1970, for page tokens: a Date has only milliseconds. */
  createdMicros: string;
};

export type UnsubscribeFilter = {
  workspaceId: string;
  topic?: string;
  search?: string;
  before?: { micros: string; address: string; topic: string };
  limit: number;
};

/** Newest first, index unsubscribes_newest. */
export async function listUnsubscribes(sql: Sql, filter: UnsubscribeFilter): Promise<UnsubscribeRow[]> {
  const { before } = filter;
  const like = filter.search && `%${filter.search.replace(/[\\%_]/g, "\\$&")}%`;
  const time = before && sql`to_timestamp(0) + ${before.micros}::bigint * interval '1 microsecond'`;
  return await sql<UnsubscribeRow[]>`
    select ${columns(sql)} from unsubscribes where workspace_id = ${filter.workspaceId}
    ${filter.topic ? sql`and topic = ${filter.topic}` : sql``}
    ${like ? sql`and address like lower(${like}::text)` : sql``}
    ${
      before && time
        ? sql`and created_at <= ${time} and (created_at < ${time} or (address, topic) > (${before.address}::text, ${before.topic}::text))`
        : sql``
    }
    order by created_at desc, address, topic limit ${filter.limit}`;
}

/** False: the entry exists, and is not changed. */
export async function addUnsubscribe(
  sql: Sql,
  entry: { workspaceId: string; address: string; topic: string },
): Promise<boolean> {
  const rows = await sql.write`
    insert into unsubscribes (workspace_id, address, topic, method, created_at)
    values (${entry.workspaceId}, lower(${entry.address}::text), ${entry.topic}, 'api', ${stampTime(sql)})
    on conflict do nothing returning 1`;
  return rows.length > 0;
}

/** Primary key. */
export async function getUnsubscribe(
  sql: Sql,
  entry: { workspaceId: string; address: string; topic: string },
): Promise<UnsubscribeRow | undefined> {
  const [row] = await sql<UnsubscribeRow[]>`
    select ${columns(sql)} from unsubscribes
    where workspace_id = ${entry.workspaceId} and address = lower(${entry.address}::text) and topic = ${entry.topic}`;
  return row;
}

/** The topics that an address has left: those of `first`, and up to `limit` others. Primary key. */
export async function topicsLeft(
  sql: Sql,
  of: { workspaceId: string; address: string; first: readonly string[]; limit: number },
): Promise<string[]> {
  const ofAddress = sql`workspace_id = ${of.workspaceId} and address = lower(${of.address}::text)`;
  const rows = await sql<{ topic: string }[]>`
    (select topic from unsubscribes where ${ofAddress} and topic = any(${of.first}::text[]))
    union all
    (select topic from unsubscribes where ${ofAddress} and topic <> all(${of.first}::text[]) order by topic limit ${of.limit})`;
  return rows.map(({ topic }) => topic);
}

export async function removeUnsubscribe(
  sql: Sql,
  entry: { workspaceId: string; address: string; topic: string },
): Promise<boolean> {
  const rows = await sql.write`
    delete from unsubscribes where workspace_id = ${entry.workspaceId} and address = lower(${entry.address}::text) and topic = ${entry.topic} returning 1`;
  return rows.length > 0;
}

function columns(sql: Sql) {
  return sql`address, topic, method, email_id as "emailId", source_event as "sourceEvent", created_at as "createdAt",
    (extract(epoch from created_at) * 1000000)::bigint::text as "createdMicros"`;
}
