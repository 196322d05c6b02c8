/** Converts emails between the contract's messages, exported files and rows, for EmailService. */
import { create, toJsonString } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { siteOfHost } from "../dns/site.ts";
import {
  type Attachment,
  EmailOutcome,
  EmailSchema,
  EmailStatus,
  type ListEmailsRequest,
  RecipientStatus,
  type SendEmailRequest,
} from "../gen/v1/email_pb.ts";
import type { Caller } from "../http/caller.ts";
import { fileOf } from "../http/cut-files.ts";
import type { Address } from "../mail/address.ts";
import { readAddressDomain } from "../mail/address-domain.ts";
import { parseMessageId, readMessageId } from "../mail/message-id.ts";
import { asText, writeCsv } from "../ops/csv.ts";
import { invalid, type Violation } from "../ops/problem.ts";
import { fromWireId, toWireId } from "../postgres/ids.ts";
import { type Outcome, outcomeOf, outcomes } from "./rules/outcome.ts";
import type { SendRequest, Submitter } from "./rules/request.ts";
import { parseSearch } from "./rules/terms.ts";
import type { EmailFilter } from "./store/list.ts";
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
    attachments: request.attachments.map(withFile),
    inReplyTo: request.inReplyTo,
    references: request.references,
    headers: request.headers,
    replyToEmailId: request.replyToEmailId,
    replyToAddresses: request.replyToAddresses,
    requireTls: request.requireTls,
    unsubscribe: request.unsubscribe && { topic: request.unsubscribe.topic },
  };
}

function withFile(attachment: Attachment): SendRequest["attachments"][number] {
  const file = fileOf(attachment);
  return file ? { ...attachment, file } : attachment;
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
    unsubscribeTopic: envelope.unsubscribe?.topic ?? "",
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

const longestSearch = 500;

export type Filters = Omit<EmailFilter, "before" | "limit" | "mostCandidates">;

/** `within`: the field of the request that has these filters. */
export function filtersFrom(request: ListEmailsRequest, workspaceId: string, within = ""): Filters {
  const problems: Violation[] = [];
  const wrong = (field: string, description: string) => problems.push({ field: `${within}${field}`, description });
  if (request.metadataValue !== "" && request.metadataKey === "")
    wrong("metadataValue", "requires metadataKey as well");
  const keyId = request.keyId === "" ? undefined : fromWireId("key", request.keyId);
  if (request.keyId !== "" && keyId === undefined)
    wrong("keyId", "is not the id of a key, key_…; ListKeys returns them");
  if (request.search.length > longestSearch)
    wrong("search", `has ${request.search.length} characters; at most ${longestSearch} are allowed`);
  if (problems.length > 0) throw invalid(problems);
  const text = request.search.trim();
  return {
    workspaceId,
    status: statusFromWire(request.status),
    outcomes: outcomesFromWire(request.outcomes),
    keyId,
    recipient: request.recipient.trim() || undefined,
    domain: request.domain.trim().toLowerCase() || undefined,
    destination: destinationOf(request.destination),
    open: request.open || undefined,
    site: siteOfHost(request.site.trim()) || undefined,
    metadataKey: request.metadataKey || undefined,
    metadataValue: request.metadataValue || undefined,
    createdAfter: request.createdAfter && timestampDate(request.createdAfter),
    createdBefore: request.createdBefore && timestampDate(request.createdBefore),
    search: text === "" ? undefined : searchFor(text),
  };
}

/** No recipient has this domain: it has one label (RFC 6761 §6.4). */
const noDestination = "invalid";

/** As it is stored: in ASCII and lower case. Text that is no domain finds nothing, and may contain what PostgreSQL cannot read. */
function destinationOf(text: string): string | undefined {
  const typed = text.trim().replace(/\.$/, "");
  if (typed === "") return undefined;
  const read = readAddressDomain(typed);
  return read.ok ? read.domain : noDestination;
}

/** The id and the Message-ID of an email name it; other text is searched for. */
function searchFor(text: string): EmailFilter["search"] {
  const messageId = parseMessageId(text);
  const named = fromWireId("email", (messageId.ok && readMessageId(messageId.messageId)?.emailId) || text);
  // Without brackets it may be an address.
  const foreign = messageId.ok && /^\s*</.test(text) ? messageId.messageId.toLowerCase() : undefined;
  return named || foreign ? { emailId: named, messageId: foreign, words: [] } : { words: parseSearch(text) };
}

/** The columns of an exported CSV file. */
const csvColumns: Record<string, (row: EmailRow, wire: ReturnType<typeof emailOnWire>) => string> = {
  id: (_, { id }) => id,
  outcome: ({ counts }) => outcomeOf(counts),
  created_at: ({ createdAt }) => createdAt.toISOString(),
  scheduled_at: ({ scheduledAt }) => scheduledAt?.toISOString() ?? "",
  from: (_, { from }) => from,
  to: (_, { to }) => to.join(", "),
  cc: (_, { cc }) => cc.join(", "),
  bcc: (_, { bcc }) => bcc.join(", "),
  subject: ({ subject }) => subject,
  status_message: (_, { statusMessage }) => statusMessage,
  delivered: ({ counts }) => String(counts.delivered),
  sent: ({ counts }) => String(counts.sent),
  bounced: ({ counts }) => String(counts.bounced),
  failed: ({ counts }) => String(counts.failed),
  suppressed: ({ counts }) => String(counts.suppressed),
  delayed: ({ counts }) => String(counts.delayed),
  queued: ({ counts }) => String(counts.queued),
  canceled: ({ counts }) => String(counts.canceled),
  complained: ({ counts }) => String(counts.complained),
  replied: ({ replied }) => String(replied),
  domain: ({ domain }) => domain,
  key_id: ({ keyId }) => (keyId === null ? "" : toWireId("key", keyId)),
  test: ({ test }) => String(test),
  message_id: ({ messageId }) => messageId,
  metadata: ({ metadata }) => JSON.stringify(metadata),
};

export function csvHeader(): string {
  return writeCsv(Object.keys(csvColumns));
}

export function csvOf(row: EmailRow): string {
  const wire = emailOnWire(row, undefined);
  return writeCsv(Object.values(csvColumns).map((column) => asText(column(row, wire))));
}

export function jsonLineOf(row: EmailRow): string {
  return `${toJsonString(EmailSchema, create(EmailSchema, emailOnWire(row, undefined)), { alwaysEmitImplicit: true })}\n`;
}
