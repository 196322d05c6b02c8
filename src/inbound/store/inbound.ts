/** Stores inbound messages: message, content and event in one commit. A message that was stored before changes nothing. Called by
 * receive.ts, and by follow-ups.ts for simulated replies; addressees.ts uses `hasProvedDomain`, housekeeping `forgetSeen`. */

import { createOlderReaders, objectsSince } from "../../emails/store/older-readers.ts";
import { countedNow } from "../../emails/store/outcomes.ts";
import type { AttachmentLabel, Texts } from "../../mail/message/digest.ts";
import type { BodyPosition } from "../../mail/message/read.ts";
import type { ContentStore } from "../../objects/content-store.ts";
import { dayOfId, noteUnused, type ObjectRef, objectRows } from "../../objects/store/objects.ts";
import { createUploads } from "../../objects/upload.ts";
import { createGroupCommit } from "../../postgres/group-commit.ts";
import { retrying, type Sql } from "../../postgres/pool.ts";
import { countedInbound } from "../../quotas/store/receiving.ts";

export type InboundSummary = {
  /** Its References field, which an answer to it continues. */
  references: readonly string[];
  attachments: readonly AttachmentLabel[];
  /** Where answers go instead of to the sender. Messages of earlier versions have none. */
  replyTo?: string;
  /** Where the body of each attachment is in the content. Messages of earlier versions have none. */
  positions?: readonly (BodyPosition | null | undefined)[];
};

export type NewInbound = {
  id: string;
  workspaceId: string;
  domainId: string;
  domain: string;
  /** The fingerprint identifies the message for this recipient, so that a repeated transmission is recognized. */
  recipients: readonly { address: string; fingerprint: string }[];
  sender: string;
  from: string;
  subject: string;
  messageId: string | undefined;
  inReplyTo: string | undefined;
  kind: "reply" | "received";
  autoSubmitted: boolean;
  contentHash: string;
  summary: InboundSummary;
  /** Undefined if they are too long to be stored apart from the content. */
  texts: Texts | undefined;
  verdicts: Record<string, unknown>;
  event: { id: string; type: string; payload: Record<string, unknown> };
  /** The email that it replies to. */
  parent: { id: string; messageId: string; metadata: Record<string, string> } | undefined;
  raw: Buffer;
  /** `raw` is in object storage. */
  object?: ObjectRef;
};

/** False: every recipient has received it before. */
export type Stored = boolean;

/** A larger message gets its own transaction, in which its content is inserted piece by piece. */
const aloneAboveBytes = 512 * 1024;
/** reads.ts finds the pieces of an attachment by this length, so it must stay the same. */
export const contentPieceBytes = 192 * 1024;

/** `contents`: undefined if all content is in the database. */
export function createInboundStore(sql: Sql, options: { contents?: ContentStore; onStored(): void }) {
  const { contents } = options;
  const hasOlder = createOlderReaders(sql, objectsSince);
  const commits = createGroupCommit<NewInbound, Stored>({
    async run(items) {
      const stored = await retrying(() =>
        insertInbound(
          sql,
          items,
          items.flatMap((item) => [...piecesOf(item)]),
        ),
      );
      options.onStored();
      return stored;
    },
    maxItems: 100,
    maxBytes: 1024 * 1024,
    concurrency: 2,
    // Most of the cost of a small batch is fixed, and a batch of the same workspace waits for the one that runs. The interval is about as long
    // as a client with one connection needs from one message to the next.
    parallelAfterMs: 30,
    minIntervalMs: 8,
    splitOn: (error) => /^2[23]/.test(String((error as { code?: string }).code)),
  });
  return {
    async store(given: NewInbound): Promise<Stored> {
      const item = await uploaded(given);
      const stored = await commit(item);
      if (!stored && item.object) await noteUnused(sql, [item.object]);
      return stored;
    },
    idle: commits.idle,
  };

  /** Before the commit, so that a message is stored only with its content. */
  async function uploaded(item: NewInbound): Promise<NewInbound> {
    if (!contents || item.raw.length <= contents.aboveBytes || (await hasOlder())) return item;
    return { ...item, object: await createUploads(contents, item.workspaceId)(item.raw) };
  }

  async function commit(item: NewInbound): Promise<Stored> {
    if (item.object) return await commits.add(item, textBytes(item));
    if (item.raw.length <= aloneAboveBytes) return await commits.add(item, item.raw.length * 2 + textBytes(item));
    const stored = await retrying(() =>
      sql.begin(
        async (tx) => {
          const [isNew] = await insertInbound(tx, [item], []);
          if (isNew) for (const piece of piecesOf(item)) await insertPieces(tx, [piece]);
          return isNew!;
        },
        // Also for a message that is stored already: its commit confirms that the first copy is replicated.
        { receipt: "always" },
      ),
    );
    options.onStored();
    return stored;
  }
}

/**
 * The row and the event leave out recipients that have received the message before; a message without other recipients changes nothing.
 * When two nodes receive the same message at the same time, the primary key of inbound_seen makes the second one wait and find it stored.
 */
async function insertInbound(
  sql: Sql,
  items: readonly NewInbound[],
  pieces: readonly Piece[],
  { simulated } = { simulated: false },
): Promise<Stored[]> {
  const objects = items.flatMap(({ object, workspaceId, id: ownerId }) =>
    object ? [{ ...object, workspaceId, ownerId, part: 0 }] : [],
  );
  const input = JSON.stringify(items.map(rowOf));
  const recipients = JSON.stringify(
    items.flatMap((item, ord) => item.recipients.map((recipient, position) => ({ ord, position, ...recipient }))),
  );
  // Without a reply, the statement does not open the partitions of all weeks of emails.
  const hasReplies = items.some(({ event }) => event.type === "email.replied");
  // addressees.ts may still know a domain whose workspace is being deleted: its mail is dropped here.
  const rows = await sql.write<{ ord: number }[]>`
    with input as (
      select x.* from json_to_recordset((${input}::text)::json) as x(ord integer, id uuid, workspace_id uuid, domain_id uuid, domain text,
        sender text, from_address text, subject text, message_id text, in_reply_to text, parent_email_id uuid, parent_message_id text,
        metadata jsonb, kind text, auto_submitted boolean, content_hash text, size_bytes bigint, summary jsonb, verdicts jsonb,
        body text, new_text text, html text, event_id uuid, event_type text, payload jsonb, shares_texts boolean)
      where exists (select 1 from workspaces w where w.id = x.workspace_id and w.deleting_at is null)
    ), recipient as (
      select r.*, i.workspace_id, i.id from json_to_recordset((${recipients}::text)::json)
        as r(ord integer, position integer, address text, fingerprint text) join input i using (ord)
    ), seen as (
      insert into inbound_seen (workspace_id, fingerprint, inbound_id, created_at)
      select workspace_id, fingerprint, id, (select service_time()) from recipient order by workspace_id, fingerprint
      on conflict do nothing returning workspace_id, fingerprint, inbound_id
    ), unseen as materialized (
      select i.*, r.addresses from input i join (
        select r.ord, array_agg(r.address order by r.position) as addresses from recipient r
        join seen s on s.workspace_id = r.workspace_id and s.fingerprint = r.fingerprint and s.inbound_id = r.id group by r.ord) r using (ord)
    )${
      hasReplies
        ? sql`, mail as materialized (
      -- Row by row and in order, as in delivery/store/settle.ts.
      select e.* from (select distinct workspace_id, parent_email_id as id from unseen where event_type = 'email.replied' order by 2 offset 0) u
      cross join lateral (select workspace_id, id from emails where workspace_id = u.workspace_id and id = u.id and not replied limit 1 for update) e
    ), parent as (
      update emails e set replied = true, ${countedNow(sql)} from mail m where e.workspace_id = m.workspace_id and e.id = m.id
    )`
        : sql``
    }, counter as materialized (
      select workspace_id from event_counters where workspace_id in (select workspace_id from unseen)
        ${hasReplies ? sql`and (select count(*) from mail) >= 0` : sql``}
      order by workspace_id for update
    ), bump as (
      update event_counters c set last = c.last + n.events
      from (select workspace_id, count(*) as events from unseen group by workspace_id) n
      where c.workspace_id = n.workspace_id and (select count(*) from counter) > 0
      returning c.workspace_id, c.last - n.events as base
    ), message as (
      insert into inbound_messages (workspace_id, id, domain_id, domain, recipients, sender, from_address, subject, message_id, in_reply_to,
        parent_email_id, kind, auto_submitted, content_hash, size_bytes, summary, verdicts, body, new_text, html)
      select workspace_id, id, domain_id, domain, addresses, sender, from_address, subject, message_id, in_reply_to,
        parent_email_id, kind, auto_submitted, content_hash, size_bytes, summary, verdicts, body, new_text, html from unseen
    ), content as (
      insert into inbound_contents (workspace_id, inbound_id, piece, data, object)
      select u.workspace_id, u.id, p.piece, p.data, p.object
      from unnest(${pieces.map((p) => p.inboundId)}::uuid[], ${pieces.map((p) => p.piece)}::int[], ${pieces.map((p) => p.data)}::text[],
        ${pieces.map((p) => p.object ?? null)}::uuid[]) as p(id, piece, data, object) join unseen u using (id)
    )${
      objects.length > 0
        ? sql`, object as (
      insert into content_objects (workspace_id, owner_id, part, content, id, line, day, bytes, key_sealed)
      select u.workspace_id, u.id, o.part, 'inbound', o.id, o.line, ${dayOfId(sql, "u.id")}, o.bytes, o."keySealed"
      from ${objectRows(sql, objects)} join unseen u on u.id = o."ownerId"
    )`
        : sql``
    }, event as (
      insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
      select u.workspace_id, b.base + row_number() over (partition by u.workspace_id order by u.ord), u.event_id, u.event_type,
        u.parent_email_id, u.parent_message_id, coalesce(u.metadata, '{}'),
        u.payload || jsonb_strip_nulls(jsonb_build_object('to', u.addresses, 'body', case when u.shares_texts then u.body end,
          'html', case when u.shares_texts then nullif(u.html, '') end)), (select stamp_time())
      from unseen u join bump b using (workspace_id)
    ), ${countedInbound(sql, { simulated })}
    select ord from unseen`;
  const stored = new Set(rows.map((row) => row.ord));
  return items.map((_, ord) => stored.has(ord));
}

/** Needs a transaction. Locks the counters of the workspaces, and the emails that are not marked as replied yet. */
export async function insertSimulated(tx: Sql, items: readonly NewInbound[]): Promise<void> {
  await insertInbound(
    tx,
    items,
    items.flatMap((item) => [...piecesOf(item)]),
    { simulated: true },
  );
}

function rowOf(item: NewInbound, ord: number) {
  const { payload, sharesTexts } = payloadOf(item);
  return {
    ord,
    id: item.id,
    workspace_id: item.workspaceId,
    domain_id: item.domainId,
    domain: item.domain,
    sender: item.sender,
    from_address: item.from,
    subject: item.subject,
    message_id: item.messageId,
    in_reply_to: item.inReplyTo,
    parent_email_id: item.parent?.id,
    parent_message_id: item.parent?.messageId,
    metadata: item.parent?.metadata,
    kind: item.kind,
    auto_submitted: item.autoSubmitted,
    content_hash: item.contentHash,
    size_bytes: item.raw.length,
    summary: item.summary,
    verdicts: item.verdicts,
    body: item.texts?.body,
    new_text: item.texts?.newText,
    html: item.texts?.html,
    event_id: item.event.id,
    event_type: item.event.type,
    payload,
    shares_texts: sharesTexts,
  };
}

/** The texts of the event are those of the message, unless they are too long. The statement then gets them once. */
function payloadOf({ event, texts }: NewInbound): { payload: Record<string, unknown>; sharesTexts: boolean } {
  const { body, html = "", ...rest } = event.payload;
  const sharesTexts = texts !== undefined && texts.body === body && texts.html === html;
  return { payload: sharesTexts ? rest : event.payload, sharesTexts };
}

function textBytes({ texts }: NewInbound): number {
  return texts ? texts.body.length + texts.newText.length + texts.html.length : 0;
}

type Piece = { workspaceId: string; inboundId: string; piece: number; data: string; object?: string };

/** No base64: a program of an earlier release cannot take it for content. */
export const dataOfObject = "*";

function* piecesOf({ id, workspaceId, raw, object }: NewInbound): Generator<Piece> {
  if (object) return yield { workspaceId, inboundId: id, piece: 0, data: dataOfObject, object: object.id };
  for (let piece = 0; piece === 0 || piece * contentPieceBytes < raw.length; piece++) {
    const data = raw.subarray(piece * contentPieceBytes, (piece + 1) * contentPieceBytes).toString("base64");
    yield { workspaceId, inboundId: id, piece, data };
  }
}

async function insertPieces(sql: Sql, pieces: readonly Piece[]): Promise<void> {
  await sql`
    insert into inbound_contents (workspace_id, inbound_id, piece, data)
    select * from unnest(${pieces.map((p) => p.workspaceId)}::uuid[], ${pieces.map((p) => p.inboundId)}::uuid[],
      ${pieces.map((p) => p.piece)}::int[], ${pieces.map((p) => p.data)}::text[])`;
}

/** Deletes fingerprints older than 30 days, since senders give up within days. At most 5,000 per call, to keep the statement short. */
export async function forgetSeen(sql: Sql): Promise<number> {
  const rows = await sql`
    delete from inbound_seen where (workspace_id, fingerprint) in (
      select workspace_id, fingerprint from inbound_seen where created_at < (select service_time()) - interval '30 days' limit 5000) returning 1`;
  return rows.length;
}

/** Whether a workspace has proved control of the domain. Until its MX record is verified, senders have to retry. Index domains_proved. */
export async function hasProvedDomain(sql: Sql, name: string): Promise<boolean> {
  const rows = await sql`
    select 1 from domains where domain = ${name} and deleted_at is null and control_proved_at is not null and status <> 'failed' limit 1`;
  return rows.length > 0;
}
