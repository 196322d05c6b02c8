/** Mail that arrived: message, content and event in one commit, and the same message again changes nothing. Called by the inbound role. */
import type { AttachmentLabel } from "../mail/message/digest.ts";
import { retrying, type Sql } from "./db.ts";
import { createGroupCommit } from "./group-commit.ts";

export type InboundSummary = {
  /** The chain before it, which an answer to it goes on with (see threads.ts). */
  references: readonly string[];
  attachments: readonly AttachmentLabel[];
};

export type NewInbound = {
  id: string;
  workspaceId: string;
  domainId: string;
  domain: string;
  /** Each with what tells whether it has had this very message before. */
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
  verdicts: Record<string, unknown>;
  event: { id: string; type: string; payload: Record<string, unknown> };
  /** The email that it answers. */
  parent: { id: string; messageId: string; metadata: Record<string, string> } | undefined;
  raw: Buffer;
};

/** False: every recipient had it before. */
export type Stored = boolean;

/** Larger messages go alone, their content piece by piece inside one transaction. */
const aloneAboveBytes = 512 * 1024;
const pieceBytes = 192 * 1024;

export function createInboundStore(sql: Sql, options: { onStored(): void }) {
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
    lanes: 2,
    splitOn: (error) => /^2[23]/.test(String((error as { code?: string }).code)),
  });
  return {
    async store(item: NewInbound): Promise<Stored> {
      if (item.raw.length <= aloneAboveBytes) return await commits.add(item, item.raw.length * 2);
      const stored = await retrying(() =>
        sql.begin(async (tx) => {
          const [fresh] = await insertInbound(tx, [item], []);
          if (fresh) for (const piece of piecesOf(item)) await insertPieces(tx, [piece]);
          return fresh!;
        }),
      );
      options.onStored();
      return stored;
    },
    idle: commits.idle,
  };
}

/**
 * A recipient that has a message already is left out of the row and of the event; a message that is left with none changes nothing.
 * Two nodes that get the same message at once meet at the key of inbound_seen: the later one waits and finds it taken.
 */
async function insertInbound(sql: Sql, items: readonly NewInbound[], pieces: readonly Piece[]): Promise<Stored[]> {
  const input = JSON.stringify(items.map(rowOf));
  const recipients = JSON.stringify(
    items.flatMap((item, ord) => item.recipients.map((recipient, place) => ({ ord, place, ...recipient }))),
  );
  const rows = await sql<{ ord: number }[]>`
    with input as (
      select * from json_to_recordset((${input}::text)::json) as x(ord integer, id uuid, workspace_id uuid, domain_id uuid, domain text,
        sender text, from_address text, subject text, message_id text, in_reply_to text, parent_email_id uuid, parent_message_id text,
        metadata jsonb, kind text, auto_submitted boolean, content_hash text, size_bytes bigint, summary jsonb, verdicts jsonb,
        event_id uuid, event_type text, payload jsonb)
    ), recipient as (
      select r.*, i.workspace_id, i.id from json_to_recordset((${recipients}::text)::json)
        as r(ord integer, place integer, address text, fingerprint text) join input i using (ord)
    ), seen as (
      insert into inbound_seen (workspace_id, fingerprint, inbound_id)
      select workspace_id, fingerprint, id from recipient order by workspace_id, fingerprint
      on conflict do nothing returning workspace_id, fingerprint, inbound_id
    ), fresh as materialized (
      select i.*, r.addresses from input i join (
        select r.ord, array_agg(r.address order by r.place) as addresses from recipient r
        join seen s on s.workspace_id = r.workspace_id and s.fingerprint = r.fingerprint and s.inbound_id = r.id group by r.ord) r using (ord)
    ), counter as materialized (
      select workspace_id from event_counters where workspace_id in (select workspace_id from fresh) order by workspace_id for update
    ), bump as (
      update event_counters c set last = c.last + n.events
      from (select workspace_id, count(*) as events from fresh group by workspace_id) n
      where c.workspace_id = n.workspace_id and (select count(*) from counter) > 0
      returning c.workspace_id, c.last - n.events as base
    ), message as (
      insert into inbound_messages (workspace_id, id, domain_id, domain, recipients, sender, from_address, subject, message_id, in_reply_to,
        parent_email_id, kind, auto_submitted, content_hash, size_bytes, summary, verdicts)
      select workspace_id, id, domain_id, domain, addresses, sender, from_address, subject, message_id, in_reply_to,
        parent_email_id, kind, auto_submitted, content_hash, size_bytes, summary, verdicts from fresh
    ), content as (
      insert into inbound_contents (workspace_id, inbound_id, piece, data)
      select f.workspace_id, f.id, p.piece, p.data
      from unnest(${pieces.map((p) => p.inboundId)}::uuid[], ${pieces.map((p) => p.piece)}::int[], ${pieces.map((p) => p.data)}::text[])
        as p(id, piece, data) join fresh f using (id)
    ), event as (
      insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
      select f.workspace_id, b.base + row_number() over (partition by f.workspace_id order by f.ord), f.event_id, f.event_type,
        f.parent_email_id, f.parent_message_id, coalesce(f.metadata, '{}'), f.payload || jsonb_build_object('to', f.addresses), clock_timestamp()
      from fresh f join bump b using (workspace_id)
    )
    select ord from fresh`;
  const fresh = new Set(rows.map((row) => row.ord));
  return items.map((_, ord) => fresh.has(ord));
}

function rowOf(item: NewInbound, ord: number) {
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
    event_id: item.event.id,
    event_type: item.event.type,
    payload: item.event.payload,
  };
}

type Piece = { workspaceId: string; inboundId: string; piece: number; data: string };

function* piecesOf({ id, workspaceId, raw }: NewInbound): Generator<Piece> {
  for (let piece = 0; piece === 0 || piece * pieceBytes < raw.length; piece++) {
    const data = raw.subarray(piece * pieceBytes, (piece + 1) * pieceBytes).toString("base64");
    yield { workspaceId, inboundId: id, piece, data };
  }
}

async function insertPieces(sql: Sql, pieces: readonly Piece[]): Promise<void> {
  await sql`
    insert into inbound_contents (workspace_id, inbound_id, piece, data)
    select * from unnest(${pieces.map((p) => p.workspaceId)}::uuid[], ${pieces.map((p) => p.inboundId)}::uuid[],
      ${pieces.map((p) => p.piece)}::int[], ${pieces.map((p) => p.data)}::text[])`;
}

/** Senders give up within days; what they sent before that is not sent again. A few at a time, so that no statement is long. */
export async function forgetSeen(sql: Sql): Promise<number> {
  const rows = await sql`
    delete from inbound_seen where (workspace_id, fingerprint) in (
      select workspace_id, fingerprint from inbound_seen where created_at < now() - interval '30 days' limit 5000) returning 1`;
  return rows.length;
}
