/** Reads stored inbound messages: lists, single messages, their texts and their raw content. Called by InboundService and stored.ts. */

import type { Texts } from "../../mail/message/digest.ts";
import type { ContentStore } from "../../objects/content-store.ts";
import { type ObjectRef, objectOf } from "../../objects/store/objects.ts";
import { ObjectLost, StoreError } from "../../objects/store-error.ts";
import { firstUuidAt } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { contentPieceBytes, type InboundSummary } from "./inbound.ts";

export type InboundRow = {
  id: string;
  domain: string;
  recipients: string[];
  from: string;
  subject: string;
  messageId: string | null;
  inReplyTo: string | null;
  parentEmailId: string | null;
  autoSubmitted: boolean;
  sizeBytes: string;
  summary: InboundSummary;
  verdicts: Record<string, string>;
  createdAt: Date;
};

export type InboundFilter = {
  workspaceId: string;
  before?: string;
  limit: number;
  domain?: string;
  recipient?: string;
  parentEmailId?: string;
  receivedAfter?: Date;
  receivedBefore?: Date;
  search?: { inboundId?: string; text: string };
};

/** Newest first, by id. Index: the primary key; for filters inbound_by_domain, inbound_by_parent and inbound_by_recipient. */
export async function listInbound(sql: Sql, filter: InboundFilter): Promise<InboundRow[]> {
  const { search, receivedAfter, receivedBefore } = filter;
  const like = search && `%${search.text.replace(/[\\%_]/g, "\\$&")}%`;
  return await sql<InboundRow[]>`
    select ${columns(sql)} from inbound_messages where workspace_id = ${filter.workspaceId}
    ${filter.before ? sql`and id < ${filter.before}` : sql``}
    ${filter.domain ? sql`and domain = ${filter.domain}` : sql``}
    ${filter.recipient ? sql`and recipients @> array[${filter.recipient}]::text[]` : sql``}
    ${filter.parentEmailId ? sql`and parent_email_id = ${filter.parentEmailId}` : sql``}
    ${receivedAfter ? sql`and created_at >= ${receivedAfter} and id >= ${idAround(receivedAfter, -1)}` : sql``}
    ${receivedBefore ? sql`and created_at < ${receivedBefore} and id < ${idAround(receivedBefore, 1)}` : sql``}
    ${
      search && like
        ? sql`and (${search.inboundId ? sql`id = ${search.inboundId}` : sql`false`} or message_id = ${search.text} or subject ilike ${like}
        or from_address ilike ${like} or exists (select 1 from unnest(recipients) as r(address) where r.address ilike ${like}))`
        : sql``
    }
    order by id desc limit ${filter.limit}`;
}

/** A bound on the id, only to skip partitions. A day wider than the filter, because ids contain the node's time, not the database's. */
function idAround(date: Date, days: -1 | 1): string {
  return firstUuidAt(Math.min(Math.max(0, date.getTime() + days * 86_400_000), 2 ** 47));
}

export async function getInbound(sql: Sql, workspaceId: string, id: string): Promise<InboundRow | undefined> {
  const [row] = await sql<InboundRow[]>`
    select ${columns(sql)} from inbound_messages where workspace_id = ${workspaceId} and id = ${id}`;
  return row;
}

/** `contents`: undefined if no object storage is configured. */
export type InboundContent = { sql: Sql; contents: ContentStore | undefined };

type PieceRow = { data: string; isObject: boolean; object: ObjectRef | null };

/** The message exactly as received; undefined if there is none or its content has been deleted. */
export async function readInboundRaw(
  { sql, contents }: InboundContent,
  workspaceId: string,
  id: string,
): Promise<Buffer | undefined> {
  const rows = await sql<PieceRow[]>`
    select ${pieceColumns(sql)} from inbound_contents c where workspace_id = ${workspaceId} and inbound_id = ${id} order by piece`;
  const [first] = rows;
  if (first?.isObject) return await objectRange(contents, workspaceId, first.object);
  return rows.length === 0 ? undefined : Buffer.concat(rows.map(({ data }) => Buffer.from(data, "base64")));
}

/** The octets from `start` to `end` of the message. Reads only the pieces that contain them. Index: the primary key. */
export async function readInboundBody(
  { sql, contents }: InboundContent,
  { workspaceId, id, start, end }: { workspaceId: string; id: string; start: number; end: number },
): Promise<Buffer | undefined> {
  const first = Math.floor(start / contentPieceBytes);
  // An object is one piece with the number 0.
  const rows = await sql<PieceRow[]>`
    select ${pieceColumns(sql)} from inbound_contents c where workspace_id = ${workspaceId} and inbound_id = ${id}
      and (piece between ${first} and ${Math.floor(Math.max(start, end - 1) / contentPieceBytes)} or (piece = 0 and object is not null)) order by piece`;
  const [found] = rows;
  if (!found) return undefined;
  if (found.isObject) return await objectRange(contents, workspaceId, found.object, { start, end });
  const bytes = Buffer.concat(rows.map(({ data }) => Buffer.from(data, "base64")));
  return bytes.subarray(start - first * contentPieceBytes, end - first * contentPieceBytes);
}

function pieceColumns(sql: Sql) {
  return sql`data, object is not null as "isObject", case when object is not null then ${objectOf(sql, "c.object")} end as object`;
}

/** Undefined: the content was deleted. */
async function objectRange(
  contents: ContentStore | undefined,
  workspaceId: string,
  ref: ObjectRef | null,
  range?: { start: number; end: number },
): Promise<Buffer | undefined> {
  if (!ref) return undefined;
  if (!contents) throw new StoreError("notConfigured", "this content is in object storage, which is not configured");
  const all: Buffer[] = [];
  try {
    const { start, end } = range ?? { start: 0, end: ref.bytes };
    for await (const piece of contents.readRange(workspaceId, ref, { start, end })) all.push(piece);
  } catch (error) {
    if (error instanceof ObjectLost) return undefined;
    throw error;
  }
  return Buffer.concat(all);
}

/** Undefined if the texts are not stored apart from the content. */
export async function readTexts(sql: Sql, workspaceId: string, id: string): Promise<Texts | undefined> {
  const [row] = await sql<Texts[]>`
    select body, new_text as "newText", html from inbound_messages
    where workspace_id = ${workspaceId} and id = ${id} and body is not null`;
  return row;
}

/** For a message of an earlier version, which was stored without its texts. */
export async function storeTexts(
  sql: Sql,
  { workspaceId, id, texts }: { workspaceId: string; id: string; texts: Texts },
): Promise<void> {
  await sql`
    update inbound_messages set body = ${texts.body}, new_text = ${texts.newText}, html = ${texts.html}
    where workspace_id = ${workspaceId} and id = ${id} and body is null`;
}

function columns(sql: Sql) {
  return sql`id, domain, recipients, from_address as "from", subject, message_id as "messageId", in_reply_to as "inReplyTo",
    parent_email_id as "parentEmailId", auto_submitted as "autoSubmitted", size_bytes as "sizeBytes", summary, verdicts, created_at as "createdAt"`;
}
