/** Converts emails between the contract's messages and rows, for EmailService. */
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { EmailOutcome, EmailStatus, RecipientStatus, type SendEmailRequest } from "../gen/v1/email_pb.ts";
import type { Caller } from "../http/caller.ts";
import type { Address } from "../mail/address.ts";
import { toWireId } from "../postgres/ids.ts";
import { type Outcome, outcomeOf, outcomes } from "./rules/outcome.ts";
import type { SendRequest, Submitter } from "./rules/request.ts";
import type { EmailRow, EmailState, RecipientRow } from "./store/reads.ts";

export function submitterOf({ workspaceId, keyId, test, limits }: Caller): Submitter {
  return { workspaceId, keyId, test, domains: limits?.domains, recipients: limits?.recipients };
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

export const outcomeOnWire: Record<Outcome, EmailOutcome> = {
  complained: EmailOutcome.COMPLAINED,
  bounced: EmailOutcome.BOUNCED,
  failed: EmailOutcome.FAILED,
  suppressed: EmailOutcome.SUPPRESSED,
  delayed: EmailOutcome.DELAYED,
  queued: EmailOutcome.QUEUED,
  canceled: EmailOutcome.CANCELED,
  sent: EmailOutcome.SENT,
  delivered: EmailOutcome.DELIVERED,
};

/** Undefined: any outcome. UNSPECIFIED in a list of others has no meaning. */
export function outcomesFromWire(wanted: readonly EmailOutcome[]): Outcome[] | undefined {
  const found = outcomes.filter((outcome) => wanted.includes(outcomeOnWire[outcome]));
  return found.length > 0 ? found : undefined;
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

/** The stored status message, or a default one while no receiver has replied. */
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
    from: formatAddress(envelope.from),
    to: envelope.to.map(formatAddress),
    cc: envelope.cc.map(formatAddress),
    bcc: envelope.bcc.map(formatAddress),
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
    recipients: recipients?.map((recipient) => recipientToWire(recipient, row.scheduledAt)) ?? [],
    attachments: recipients ? envelope.attachments : [],
    outcome: outcomeOnWire[outcomeOf(row.counts)],
    recipientCounts: row.counts,
    replied: row.replied,
    keyId: row.keyId === null ? "" : toWireId("key", row.keyId),
  };
}

function recipientToWire(row: RecipientRow, scheduledAt: Date | null) {
  const isWaiting = row.status === "queued" || row.status === "delayed";
  // The time that the caller named. The due time is computed from it, and differs by milliseconds.
  const nextAttemptAt = row.attempts === 0 ? (scheduledAt ?? row.dueAt) : row.dueAt;
  return {
    address: row.address,
    status: recipientOnWire[row.status],
    attempts: row.attempts,
    lastReply: row.reply ?? "",
    lastAttemptAt: row.lastAttemptAt ? timestampFromDate(row.lastAttemptAt) : undefined,
    nextAttemptAt: isWaiting ? timestampFromDate(nextAttemptAt) : undefined,
    remoteMx: row.remoteMx ?? "",
    settledAt: row.settledAt ? timestampFromDate(row.settledAt) : undefined,
  };
}

function formatAddress({ name, address }: Address): string {
  return name === ""
    ? address
    : `${/^[\w !#$%&'*+\-/=?^`{|}~]*$/.test(name) ? name : JSON.stringify(name)} <${address}>`;
}
