/** Emails going in: the email, its recipients, its content and its idempotency key, committed together in one statement. */
import type { Address } from "../mail/address.ts";
import type { Sql } from "./db.ts";
import { createGroupCommit } from "./group-commit.ts";
import { textArray } from "./text-array.ts";

export type RecipientKind = "to" | "cc" | "bcc";

/** What was asked for beside the texts, as it is stored in emails.envelope. */
export type Envelope = {
  from: Address;
  to: Address[];
  cc: Address[];
  bcc: Address[];
  replyTo: Address[];
  headers: [name: string, value: string][];
  inReplyTo?: string;
  references: string[];
  requireTls: boolean;
  attachments: { filename: string; contentType: string; contentId?: string; sizeBytes: number }[];
};

export type NewEmail = {
  id: string;
  workspaceId: string;
  keyId: string;
  /** Of the workspace: whether it is there and may send is looked at by the statement that stores the email. */
  domain: string;
  subject: string;
  messageId: string;
  envelope: Envelope;
  metadata: Record<string, string>;
  test: boolean;
  sizeBytes: number;
  /** Undefined: due at once. */
  scheduledAt: Date | undefined;
  /** How long it is tried from when it is due, unless `expiresAt` says otherwise. */
  retryForMs: number;
  expiresAt: Date | undefined;
  recipients: { kind: RecipientKind; address: string; destination: string }[];
  /** Part 0 is JSON of the texts, part n the base64 of attachment n. */
  parts: string[];
  idempotency: { key: string; requestHash: string; keptForMs: number } | undefined;
};

/** Why a domain may not send; undefined in its place: the workspace has no such domain. */
export type MuteDomain = { status: string; note: string };

/** Either this email is stored now, or its idempotency key was used before, for that email, or its domain may not send. */
export type Accepted =
  | { stored: true }
  | { stored: false; emailId: string; requestHash: string }
  | { stored: false; emailId: undefined; domain: MuteDomain | undefined };

const pieceLength = 256 * 1024;
export const batchBytes = 1024 * 1024;

export type EmailStore = { accept(email: NewEmail): Promise<Accepted>; idle(): Promise<void> };

export type EmailStoreOptions = {
  lanes?: number;
  /** Called with emails that were just committed together. */
  onStored?(emails: readonly NewEmail[]): void;
};

export function createEmailStore(sql: Sql, options: EmailStoreOptions = {}): EmailStore {
  const group = createGroupCommit<NewEmail, Accepted>({
    run: (emails) => answer(emails, acceptBatch(sql, emails)),
    maxItems: 200,
    maxBytes: batchBytes,
    // bench/send, 64 callers at once: 3,000 a second with two lanes at any time, 3,450 with the second for a stuck statement only, 3,950 by halves.
    lanes: options.lanes ?? 2,
    nextLaneMs: 20,
    wholeItems: 32,
    keyOf,
    // Class 22 is bad data, 23 a broken constraint: a fault of one row. Anything else would fail again.
    splitOn: (error) => /^2[23]/.test(String((error as { code?: string }).code)),
  });
  return {
    accept(email) {
      const bytes = email.parts.reduce((sum, part) => sum + part.length, 0);
      if (bytes <= batchBytes) return group.add(email, bytes);
      return answer([email], acceptLarge(sql, email)).then(([accepted]) => accepted!);
    },
    idle: group.idle,
  };

  async function answer(emails: readonly NewEmail[], storing: Promise<LeftOut[]>) {
    const leftOut = await storing;
    if (leftOut.length === 0) {
      options.onStored?.(emails);
      return emails.map(() => ({ stored: true as const }));
    }
    const left = new Set(leftOut.map(({ id }) => id));
    options.onStored?.(emails.filter(({ id }) => !left.has(id)));
    return answersFor(sql, emails, leftOut);
  }
}

async function acceptBatch(sql: Sql, emails: NewEmail[]): Promise<LeftOut[]> {
  // Keys are inserted in their order, so that two nodes with the same keys wait for each other and never in a circle.
  const sorted = [...emails].sort((a, b) => ((a.idempotency?.key ?? "") < (b.idempotency?.key ?? "") ? -1 : 1));
  const pieces = emails.flatMap((email) => [...piecesOf(email)]);
  return await insertEmails(sql, sorted, pieces);
}

/** Content too large for one statement goes piece by piece inside one transaction, so that other calls are served in between. */
async function acceptLarge(sql: Sql, email: NewEmail): Promise<LeftOut[]> {
  return await sql.begin(async (tx) => {
    const leftOut = await insertEmails(tx, [email], []);
    if (leftOut.length > 0) return leftOut;
    let slice: Piece[] = [];
    for (const piece of piecesOf(email)) {
      slice.push(piece);
      if (slice.length < batchBytes / pieceLength) continue;
      await insertPieces(tx, slice);
      slice = [];
    }
    await insertPieces(tx, slice);
    return leftOut;
  });
}

/** An email that was not stored: its domain may not send, or its idempotency key was taken. */
export type LeftOut = { id: string; canSend: boolean | null; status: string | null; note: string | null };

/** Gives those that were left out: nearly always none. */
export async function insertEmails(sql: Sql, emails: NewEmail[], pieces: Piece[]): Promise<LeftOut[]> {
  const rows = JSON.stringify(emails.map(emailRow));
  const recipients = JSON.stringify(emails.flatMap(recipientRows));
  return await sql<LeftOut[]>`
    with asked as (
      select x.*, d.id as domain_id, d.can_send, d.status, d.note
      from json_to_recordset((${rows}::text)::json) as x(
        id uuid, workspace_id uuid, key_id uuid, domain text, from_address text, subject text, message_id text,
        envelope jsonb, metadata jsonb, test boolean, total integer, size_bytes bigint, scheduled_at timestamptz, expires_at timestamptz,
        retry_for interval, idempotency_key text, request_hash text, kept_for interval)
      left join domains d on d.workspace_id = x.workspace_id and d.domain = x.domain and d.deleted_at is null
    ), input as (
      select * from asked where can_send
    ), claimed as (
      insert into idempotency (workspace_id, key, request_hash, email_id, expires_at)
      select workspace_id, idempotency_key, request_hash, id, now() + kept_for from input where idempotency_key is not null
      order by workspace_id, idempotency_key
      on conflict (workspace_id, key) do update
        set request_hash = excluded.request_hash, email_id = excluded.email_id, answer = null, expires_at = excluded.expires_at
        where idempotency.expires_at < now()
      returning email_id
    ), fresh as (
      select *, greatest(now(), scheduled_at) as due_at from input
      where idempotency_key is null or id in (select email_id from claimed)
    ), mail as (
      insert into emails (workspace_id, id, key_id, domain_id, domain, from_address, subject, message_id, envelope, metadata, test,
        open, total, size_bytes, content_day, scheduled_at, expires_at)
      select workspace_id, id, key_id, domain_id, domain, from_address, subject, message_id, envelope, metadata, test,
        total, total, size_bytes, (due_at at time zone 'UTC')::date, scheduled_at, coalesce(expires_at, due_at + retry_for)
      from fresh
    ), queue as (
      insert into recipients (workspace_id, email_id, position, kind, address, destination, due_at)
      select f.workspace_id, f.id, r.position, r.kind, r.address, r.destination, f.due_at
      from json_to_recordset((${recipients}::text)::json) as r(email_id uuid, position smallint, kind text, address text, destination text)
      join fresh f on f.id = r.email_id
    ), content as (
      insert into email_contents (workspace_id, email_id, day, part, piece, data)
      select f.workspace_id, f.id, (f.due_at at time zone 'UTC')::date, p.part, p.piece, p.data
      from unnest(${pieces.map((p) => p.emailId)}::uuid[], ${pieces.map((p) => p.part)}::smallint[], ${pieces.map((p) => p.piece)}::int[],
        ${textArray(pieces.map((p) => p.data))}::text[]) as p(email_id, part, piece, data)
      join fresh f on f.id = p.email_id
    )
    select id, can_send as "canSend", status, note from asked where id not in (select id from fresh)`;
}

export type Piece = { workspaceId: string; emailId: string; part: number; piece: number; data: string };

export async function insertPieces(sql: Sql, pieces: Piece[]): Promise<void> {
  await sql`
    insert into email_contents (workspace_id, email_id, day, part, piece, data)
    select e.workspace_id, e.id, e.content_day, p.part, p.piece, p.data
    from unnest(${pieces.map((p) => p.workspaceId)}::uuid[], ${pieces.map((p) => p.emailId)}::uuid[], ${pieces.map((p) => p.part)}::smallint[],
      ${pieces.map((p) => p.piece)}::int[], ${textArray(pieces.map((p) => p.data))}::text[]) as p(workspace_id, id, part, piece, data)
    join emails e using (workspace_id, id)`;
}

/** An email whose domain may send lost to an earlier one with the same key: that one is the answer. It is looked up for those few alone; the
 * others are stored, whatever becomes of that look. */
function answersFor(sql: Sql, emails: readonly NewEmail[], leftOut: readonly LeftOut[]) {
  const byId = new Map(leftOut.map((row) => [row.id, row]));
  const repeated = emails.filter(({ id }) => byId.get(id)?.canSend);
  const firsts = repeated.length === 0 ? undefined : findFirsts(sql, repeated);
  return emails.map((email): Accepted | Promise<Accepted> => {
    const left = byId.get(email.id);
    if (!left) return { stored: true };
    if (!left.canSend) return { stored: false, emailId: undefined, domain: muteDomain(left) };
    return firsts!.then((found) => {
      const first = found.get(keyOf(email)!);
      // The key ran out between the two statements, or a housekeeper took it: the caller may simply try again.
      if (!first) throw Object.assign(new Error("idempotency key vanished"), { code: "55P03" });
      return { stored: false, emailId: first.emailId, requestHash: first.requestHash };
    });
  });
}

async function findFirsts(sql: Sql, emails: readonly NewEmail[]) {
  const rows = await sql<{ workspaceId: string; key: string; requestHash: string; emailId: string }[]>`
    select i.workspace_id as "workspaceId", i.key, i.request_hash as "requestHash", i.email_id as "emailId"
    from unnest(${emails.map((e) => e.workspaceId)}::uuid[], ${emails.map((e) => e.idempotency!.key)}::text[]) as k(workspace_id, key)
    join idempotency i using (workspace_id, key)`;
  return new Map(rows.map((row) => [`${row.workspaceId} ${row.key}`, row]));
}

function keyOf(email: NewEmail): string | undefined {
  return email.idempotency && `${email.workspaceId} ${email.idempotency.key}`;
}

function muteDomain({ status, note }: LeftOut): MuteDomain | undefined {
  return status === null ? undefined : { status, note: note ?? "" };
}

/** What an idempotency key was used for, while it is kept. */
export async function findAccepted(
  sql: Sql,
  workspaceId: string,
  key: string,
): Promise<{ emailId: string; messageId: string; requestHash: string } | undefined> {
  const [row] = await sql<{ emailId: string; messageId: string; requestHash: string }[]>`
    select i.email_id as "emailId", e.message_id as "messageId", i.request_hash as "requestHash"
    from idempotency i join emails e on e.workspace_id = i.workspace_id and e.id = i.email_id
    where i.workspace_id = ${workspaceId} and i.key = ${key} and i.expires_at >= now()`;
  return row;
}

function emailRow(email: NewEmail) {
  return {
    id: email.id,
    workspace_id: email.workspaceId,
    key_id: email.keyId,
    domain: email.domain,
    from_address: email.envelope.from.address,
    subject: email.subject,
    message_id: email.messageId,
    envelope: email.envelope,
    metadata: email.metadata,
    test: email.test,
    total: email.recipients.length,
    size_bytes: email.sizeBytes,
    scheduled_at: email.scheduledAt,
    expires_at: email.expiresAt,
    retry_for: `${email.retryForMs} milliseconds`,
    idempotency_key: email.idempotency?.key,
    request_hash: email.idempotency?.requestHash,
    kept_for: email.idempotency && `${email.idempotency.keptForMs} milliseconds`,
  };
}

function recipientRows(email: NewEmail) {
  return email.recipients.map((recipient, position) => ({ email_id: email.id, position, ...recipient }));
}

export function* piecesOf({ id, workspaceId, parts }: NewEmail): Generator<Piece> {
  for (const [part, text] of parts.entries()) {
    let from = 0;
    for (let piece = 0; piece === 0 || from < text.length; piece++) {
      let to = from + pieceLength;
      // Half a surrogate pair is no text: a pair stays in one piece.
      if (isHighSurrogate(text.charCodeAt(to - 1))) to--;
      yield { workspaceId, emailId: id, part, piece, data: text.slice(from, to) };
      from = to;
    }
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
