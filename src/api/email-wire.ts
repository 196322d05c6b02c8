/** Emails between the wire and the store. */
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Sender } from "../accept/accept.ts";
import type { SendRequest } from "../accept/request.ts";
import { EmailStatus, RecipientStatus, type SendEmailRequest } from "../gen/v1/email_pb.ts";
import type { Address } from "../mail/address.ts";
import type { EmailRow, EmailState, RecipientRow } from "../store/email-reads.ts";
import { toWireId } from "../store/ids.ts";
import type { Caller } from "./call.ts";

export function senderOf({ workspaceId, keyId, domain, test }: Caller): Sender {
  return { workspaceId, keyId, domain, test };
}

export function sendRequestFrom(request: SendEmailRequest): SendRequest {
  return {
    from: request.from,
    to: request.to,
    cc: request.cc,
    bcc: request.bcc,
    subject: request.subject,
    body: request.body,
    html: request.html,
    metadata: request.metadata,
    scheduledAt: request.scheduledAt && timestampDate(request.scheduledAt),
    expiresAt: request.expiresAt && timestampDate(request.expiresAt),
    attachments: request.attachments,
    inReplyTo: request.inReplyTo,
    references: request.references,
    headers: request.headers,
    replyToEmailId: request.replyToEmailId,
    replyToAddresses: request.replyToAddresses,
    requireTls: request.requireTls,
  };
}

export const statusOnWire: Record<EmailState, EmailStatus> = {
  queued: EmailStatus.QUEUED,
  processing: EmailStatus.PROCESSING,
  sent: EmailStatus.SENT,
  failed: EmailStatus.FAILED,
};

export function statusFromWire(status: EmailStatus): EmailState | undefined {
  return (Object.keys(statusOnWire) as EmailState[]).find((state) => statusOnWire[state] === status);
}

const recipientOnWire: Record<RecipientRow["status"], RecipientStatus> = {
  queued: RecipientStatus.QUEUED,
  processing: RecipientStatus.PROCESSING,
  delayed: RecipientStatus.DELAYED,
  delivered: RecipientStatus.DELIVERED,
  sent: RecipientStatus.SENT,
  bounced: RecipientStatus.BOUNCED,
  failed: RecipientStatus.FAILED,
  suppressed: RecipientStatus.SUPPRESSED,
  canceled: RecipientStatus.CANCELED,
};

/** The status in words where no receiver has said anything yet. */
export function statusText(status: EmailState, message: string): string {
  if (message !== "") return message;
  return {
    queued: "queued for delivery",
    processing: "being delivered",
    sent: "accepted by the receivers",
    failed: "no recipient accepted it",
  }[status];
}

export function emailOnWire(row: EmailRow, recipients: RecipientRow[] | undefined) {
  const { envelope } = row;
  return {
    id: toWireId("email", row.id),
    status: statusOnWire[row.status],
    messageId: row.messageId,
    statusMessage: statusText(row.status, row.statusMessage),
    from: written(envelope.from),
    to: envelope.to.map(written),
    cc: envelope.cc.map(written),
    bcc: envelope.bcc.map(written),
    subject: row.subject,
    metadata: row.metadata,
    createdAt: timestampFromDate(row.createdAt),
    updatedAt: timestampFromDate(row.updatedAt),
    scheduledAt: row.scheduledAt ? timestampFromDate(row.scheduledAt) : undefined,
    expiresAt: timestampFromDate(row.expiresAt),
    domain: row.domain,
    test: row.test,
    hasContent: row.hasContent,
    sizeBytes: Number(row.sizeBytes),
    recipients: recipients?.map(recipientToWire) ?? [],
    attachments: recipients ? envelope.attachments : [],
  };
}

function recipientToWire(row: RecipientRow) {
  const waits = row.status === "queued" || row.status === "delayed";
  return {
    address: row.address,
    status: recipientOnWire[row.status],
    attempts: row.attempts,
    lastReply: row.reply ?? "",
    lastAttemptAt: row.lastAttemptAt ? timestampFromDate(row.lastAttemptAt) : undefined,
    nextAttemptAt: waits ? timestampFromDate(row.dueAt) : undefined,
    remoteMx: row.remoteMx ?? "",
    settledAt: row.settledAt ? timestampFromDate(row.settledAt) : undefined,
  };
}

function written({ name, address }: Address): string {
  return name === ""
    ? address
    : `${/^[\w !#$%&'*+\-/=?^`{|}~]*$/.test(name) ? name : JSON.stringify(name)} <${address}>`;
}
