/** A new email, as the statement that stores it (emails.ts) gets it, and the checks of this statement before the content is uploaded. */
import { systemKeyId } from "../../keys/store.ts";
import type { Address } from "../../mail/address.ts";
import type { LaterField } from "../../mail/submitted/prepare.ts";
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

/** The CTE `requested`: a row for each email, with its domain. */
export function requestedEmails(sql: Sql, emails: readonly NewEmail[]) {
  const sums = sumsSoFar(emails.map(countedAs));
  const rows = JSON.stringify(emails.map((email, i) => ({ ...emailRow(email), ...sums[i] })));
  return sql`requested as (
      select x.*, d.id as domain_id, d.can_send, d.status, d.note
      from json_to_recordset((${rows}::text)::json) as x(
        id uuid, workspace_id uuid, domain_workspace_id uuid, key_id uuid, domain text, from_address text, subject text, message_id text,
        envelope jsonb, metadata jsonb, test boolean, free boolean, total integer, total_so_far bigint, bytes_so_far bigint, size_bytes bigint, scheduled_at timestamptz, expires_at timestamptz,
        retry_for interval, created_at timestamptz, idempotency_key text, request_hash text, kept_for interval)
      left join domains d on d.workspace_id = coalesce(x.domain_workspace_id, x.workspace_id) and d.domain = x.domain and d.deleted_at is null
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

function emailRow(email: NewEmail) {
  return {
    id: email.id,
    workspace_id: email.workspaceId,
    domain_workspace_id: email.domainWorkspaceId,
    key_id: email.keyId,
    domain: email.domain,
    from_address: email.envelope.from.address,
    subject: email.subject,
    message_id: email.messageId,
    envelope: email.envelope,
    metadata: email.metadata,
    test: email.test,
    free: isSystemMail(email),
    total: email.recipients.length,
    size_bytes: email.sizeBytes,
    scheduled_at: email.scheduledAt,
    expires_at: email.expiresAt,
    retry_for: `${email.retryForMs} milliseconds`,
    // The same time as in the id, also while the database's clock jumps: lists by time search by id.
    created_at: new Date(uuidTime(email.id)),
    idempotency_key: email.idempotency?.key,
    request_hash: email.idempotency?.requestHash,
    kept_for: email.idempotency && `${email.idempotency.keptForMs} milliseconds`,
  };
}
