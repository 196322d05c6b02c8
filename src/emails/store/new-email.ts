/** A new email, as the statement that stores it (emails.ts) gets it, and the checks of this statement before the content is uploaded. */
import { systemKeyId } from "../../keys/store.ts";
import type { Address } from "../../mail/address.ts";
import type { LaterField } from "../../mail/submitted/prepare.ts";
import { bigintArray, intArray, textArray, timeArray, uuidArray } from "../../postgres/arrays.ts";
import { uuidTime } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { serviceTime } from "../../postgres/service-clock.ts";
import type { QuotaDefaults } from "../../quotas/rules/limits.ts";
import { refused, sumsSoFar } from "../../quotas/store/sending.ts";
import type { RecipientKind } from "../rules/request.ts";
import type { NewPart } from "./parts.ts";

/** The request without the texts and attachment data, as stored in emails.envelope. */
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
  /** The recipient can unsubscribe from this topic. `headers`, or the submitted message, has the link. */
  unsubscribe?: { topic: string };
  /** The email was submitted as a message, which is part 0 of its content. */
  submitted?: { later: LaterField[]; eightBit: boolean };
};

export type NewEmail = {
  id: string;
  workspaceId: string;
  /** Undefined: `workspaceId` has the domain. */
  domainWorkspaceId?: string;
  keyId: string;
  /** The sender's domain. The statement that stores the email checks that the workspace has it and that it may send. */
  domain: string;
  subject: string;
  messageId: string;
  /** The sender chose the Message-ID. */
  isForeignId?: boolean;
  envelope: Envelope;
  metadata: Record<string, string>;
  test: boolean;
  sizeBytes: number;
  /** Undefined: due at once. */
  scheduledAt: Date | undefined;
  /** How long to retry after it is due, unless `expiresAt` is set. */
  retryForMs: number;
  expiresAt: Date | undefined;
  recipients: { kind: RecipientKind; address: string; destination: string }[];
  /** parts.ts says what each is. */
  parts: NewPart[];
  idempotency: { key: string; requestHash: string; keptForMs: number } | undefined;
};

/**
 * The CTE `requested`: a row for each email, with its domain. Arrays, because the server needs three times as long to take JSON apart. What
 * the emails of a sender have in common is sent once, in the CTE `senders`.
 */
export function requestedEmails(sql: Sql, emails: readonly NewEmail[]) {
  const sums = sumsSoFar(emails.map(countedAs));
  const { senders, senderOf } = sendersOf(emails);
  const texts = (read: (email: NewEmail) => string | undefined) =>
    textArray(emails.map((email) => read(email) ?? null));
  return sql`senders as materialized (
      select s.*, d.id as domain_id, d.can_send, d.status, d.note
      from json_to_recordset((${JSON.stringify(senders)}::text)::json) as s(
        sender integer, workspace_id uuid, domain_workspace_id uuid, key_id uuid, domain text, test boolean, free boolean, retry_for interval,
        kept_for interval)
      left join domains d on d.workspace_id = coalesce(s.domain_workspace_id, s.workspace_id) and d.domain = s.domain and d.deleted_at is null
    ), requested as (
      select s.*, x.id, x.from_address, x.subject, x.message_id, x.envelope::jsonb as envelope, x.metadata::jsonb as metadata, x.total,
        x.total_so_far, x.bytes_so_far, x.size_bytes, x.scheduled_at, x.expires_at, x.created_at, x.idempotency_key, x.request_hash
      from unnest(${intArray(emails.map(senderOf))}::integer[], ${uuidArray(emails.map(({ id }) => id))}::uuid[],
        ${texts(({ envelope }) => envelope.from.address)}::text[], ${texts(({ subject }) => subject)}::text[],
        ${texts(({ messageId }) => messageId)}::text[], ${texts(({ envelope }) => JSON.stringify(envelope))}::text[],
        ${texts(({ metadata }) => JSON.stringify(metadata))}::text[], ${intArray(emails.map(({ recipients }) => recipients.length))}::integer[],
        ${bigintArray(sums.map((sum) => sum.total_so_far))}::bigint[], ${bigintArray(sums.map((sum) => sum.bytes_so_far))}::bigint[],
        ${bigintArray(emails.map(({ sizeBytes }) => sizeBytes))}::bigint[], ${timeArray(emails.map(({ scheduledAt }) => scheduledAt ?? null))}::timestamptz[],
        ${timeArray(emails.map(({ expiresAt }) => expiresAt ?? null))}::timestamptz[], ${timeArray(emails.map(createdAt))}::timestamptz[],
        ${texts(({ idempotency }) => idempotency?.key)}::text[], ${texts(({ idempotency }) => idempotency?.requestHash)}::text[])
        as x(sender, id, from_address, subject, message_id, envelope, metadata, total, total_so_far, bytes_so_far, size_bytes, scheduled_at,
          expires_at, created_at, idempotency_key, request_hash)
      join senders s using (sender)
    )`;
}

/** Whether one of the emails, as far as is known now, will not be stored: its domain or its workspace may not send, or an idempotency key, its
 * own or `batchKey`, is already used. The statement that stores them decides. */
export async function willBeRefused(
  sql: Sql,
  emails: readonly NewEmail[],
  { quotas, batchKey }: { quotas: QuotaDefaults; batchKey?: string },
): Promise<boolean> {
  const rows = await sql`
    with ${requestedEmails(sql, emails)}, ${refused(sql, quotas)}
    select 1 from requested r where can_send is not true or id in (select id from refused) or exists (
      select 1 from idempotency i where i.workspace_id = r.workspace_id and i.key = coalesce(r.idempotency_key, ${batchKey ?? null}::text)
        and i.expires_at >= ${serviceTime(sql)})
    limit 1`;
  return rows.length > 0;
}

/** What an email counts towards the quotas of its workspace. */
export function countedAs(email: NewEmail) {
  const { id, workspaceId, sizeBytes } = email;
  return { id, workspaceId, sizeBytes, total: email.recipients.length, free: isSystemMail(email) };
}

export function isSystemMail({ keyId }: NewEmail): boolean {
  return keyId === systemKeyId;
}

/** The same time as in the id, also while the database's clock jumps: lists by time search by id. */
function createdAt({ id }: NewEmail): Date {
  return new Date(uuidTime(id));
}

/** What the emails have in common, nearly always one row, and the row of each email. */
function sendersOf(emails: readonly NewEmail[]) {
  const numbers = new Map<string, number>();
  const senders: object[] = [];
  const rows = emails.map((email) => {
    const { workspaceId, domainWorkspaceId, keyId, domain, test, retryForMs, idempotency } = email;
    const values = [workspaceId, domainWorkspaceId, keyId, domain, test, retryForMs, idempotency?.keptForMs];
    const name = values.join(" ");
    const known = numbers.get(name);
    if (known !== undefined) return known;
    const sender = numbers.size;
    numbers.set(name, sender);
    senders.push({
      sender,
      workspace_id: workspaceId,
      domain_workspace_id: domainWorkspaceId,
      key_id: keyId,
      domain,
      test,
      free: isSystemMail(email),
      retry_for: `${retryForMs} milliseconds`,
      kept_for: idempotency && `${idempotency.keptForMs} milliseconds`,
    });
    return sender;
  });
  return { senders, senderOf: (_: NewEmail, i: number) => rows[i]! };
}
